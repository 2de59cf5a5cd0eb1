@Test @Options("a", 3) method At() ensures true
@AutoContracts class Z { @Axiom lemma L() ensures true }
