"""Are words found of which we know that they decide? After Bastings et al. 2022."""
