/** What other folders of this package need, and its users do not. Nothing is promised about these names. */
export { type HandlerRun, needsState, runHandler, type RunSetup } from './calls/run.ts'
