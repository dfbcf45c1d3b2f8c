"""The sibling for pictures: which regions made an image classifier decide as it did."""
