/** What other folders of this package need, and its users do not. Nothing is promised about these names. */
export { CallLifetime } from './calls/lifetime.ts'
export { assertRoundLeft, needsState, runHandler } from './calls/run.ts'
export { createHostGuard } from './http/hostGuard.ts'
export { isLocalHost } from './localHost.ts'
export { nameAdvice } from './optionNames.ts'
