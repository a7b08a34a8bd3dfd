/** Exports for the gateway and the program, not for users. Nothing is promised about these names. */
export { type Cell, type CellFacts, cellsOf, cellsText, declaredAbilities } from './report/cells.ts'
export { isKnownStateless } from './report/report.ts'
