/** What the gateway and the program need, and users of the library do not. Nothing is promised about these names. */
export { type Cell, type CellFacts, cellsOf, cellsText, declaredAbilities } from './report/cells.ts'
export { isKnownStateless } from './report/report.ts'
