import type { Run } from '../../journal/index.ts'
import type { Call } from '../call.ts'
import type { ClientState } from './clientState.ts'
import { Context } from './context.ts'

/** What the handler of a tool has that begins as a call and may become a task. */
export class DetachableContext extends Context {
  readonly #run: Run

  constructor(call: Call, run: Run, requestState: unknown, state?: ClientState) {
    super(call, run, requestState, state)
    this.#run = run
  }

  /**
   * Makes a task of this call: what follows runs in the background and survives its process. What was answered and done
   * goes with it. A task stays one, so what this gives cannot detach again. Where the client takes no tasks, the call
   * simply goes on.
   */
  async detach(): Promise<Context> {
    await this.#run.detach()
    return this
  }
}
