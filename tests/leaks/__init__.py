"""What launches leave behind: blocks of memory, objects and resident pages, by every kind of launch."""
