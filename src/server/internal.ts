/** What other folders of this package need, and its users do not. Nothing is promised about these names. */
export { needsState, runHandler } from './calls/run.ts'
