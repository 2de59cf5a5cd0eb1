abstract module {:options "-functionSyntax:4"} Base { function BASE(): nat ensures BASE() > 1; type uint = i: int | 0 <= i < BASE() }
