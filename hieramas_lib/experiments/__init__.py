"""From methods to evidence: run folders, records, statistics, tables, figures and the report.

A notebook declares its parameters once (``config``), opens a run (``runs``), evaluates methods
(``records``), and saves tables (``tables``) and figures (``figures``) into the run's folder.
``execution`` runs notebooks, one or many, ``report`` binds the results into one page, and
``cli`` is a thin door to both.
"""
