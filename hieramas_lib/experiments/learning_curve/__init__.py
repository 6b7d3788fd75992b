"""How near stage 1 comes to the best team, by the number of questions it was trained on."""
