/** How long a test waits for what must come. The one second of Vitest is too short on a busy machine. */
import { vi } from 'vitest'

export const PATIENCE_MS = 20_000

type WaitFor = typeof vi.waitFor

/** `vi.waitFor` has no setting for its default; `expect.poll` has one, in vitest.config.ts. */
function patient(waitFor: WaitFor): WaitFor {
  const patientWaitFor: WaitFor = (callback, options) =>
    waitFor(callback, typeof options === 'number' ? options : { timeout: PATIENCE_MS, ...options })
  return patientWaitFor
}

// Files that share a worker share `vi`.
if (vi.waitFor.name !== 'patientWaitFor') vi.waitFor = patient(vi.waitFor)
