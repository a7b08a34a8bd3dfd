import type { SignalName } from './toolSignals.ts'
export const TOOLS_ACCURACY = 0.9
export const INTERCEPT = -1
export const THRESHOLD = 0.5
export const WEIGHTS: Readonly<Record<SignalName, number>> = {
  pair: 1.5,
  page: 1.5,
  sessionParameter: 1,
  handle: 1,
  setter: 1,
  current: 1,
  callFirst: 1,
  session: 1,
  history: 1,
  reset: 1,
  background: 1,
  inMemory: 0.5,
  connect: 0.5,
  debug: 1,
  game: 1,
  toggled: 1,
  loaded: 0.5,
  plain: -1,
  readOnly: -0.5,
  fewTools: -0.3,
}
export const CALIBRATION: readonly { readonly below: number; readonly right: number }[] = [
  { below: 0.5, right: 0.8 },
  { below: 1.01, right: 0.8 },
]
