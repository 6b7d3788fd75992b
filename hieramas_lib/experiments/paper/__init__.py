"""The tables and figures of the HieraMAS paper, from what is in the results folder."""
