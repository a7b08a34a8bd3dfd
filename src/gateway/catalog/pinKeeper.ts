/**
 * Holds the pins of a running gateway.
 *
 * - A check decides at once, by what is in memory. The file is written after it, from what the file has at that moment,
 *   so that what another process accepted meanwhile stays accepted.
 * - Until the file has been read, and while it cannot be, every tool of a server with the policy `pin` is withheld.
 * - Definitions of servers with the policy `warn` are remembered by this process only.
 */
import type { Json } from '../../protocol/index.ts'
import type { PinFile } from './pinFile.ts'
import { type ChangedDefinition, checkDefinitions, type Pins } from './pins.ts'

export interface PinKeeperOptions {
  /** Where pins are stored. @default the memory of this process */
  readonly file?: PinFile
  /** Called with each changed definition once. */
  readonly onChanged: (server: string, changed: ChangedDefinition & { readonly withheld: boolean }) => void
  /** Called when the file cannot be read or written. */
  readonly onFailed: (error: unknown) => void
}

export class PinKeeper {
  readonly #options: PinKeeperOptions
  /** Undefined while the file is not read. */
  #pinned: Pins | undefined
  #seen: Pins = new Map()
  #writing: Promise<void> = Promise.resolve()

  constructor(options: PinKeeperOptions) {
    this.#options = options
    if (options.file === undefined) this.#pinned = new Map()
  }

  /** Reads the file: at the start, and again when somebody may have accepted something. */
  async load(): Promise<void> {
    const { file, onFailed } = this.#options
    if (file === undefined) return
    try {
      await this.#writing
      this.#pinned = await file.load()
    } catch (error) {
      this.#pinned = undefined
      onFailed(error)
    }
  }

  /** The server's own names of the tools that are not to be served. */
  withheld(server: string, tools: readonly Json[], policy: 'warn' | 'pin'): ReadonlySet<string> {
    const known = policy === 'warn' ? this.#seen : this.#pinned
    if (known === undefined) return new Set(tools.map(({ name }) => String(name)))
    const { pins, changed, withheld } = checkDefinitions(known, server, { tools, policy })
    if (policy === 'warn') this.#seen = pins
    else this.#pinned = pins
    for (const each of changed) this.#options.onChanged(server, { ...each, withheld: withheld.has(each.tool) })
    if (policy === 'pin' && pins !== known) this.#store(server, tools)
    return withheld
  }

  /** Resolves when everything is stored. */
  async stored(): Promise<void> {
    await this.#writing
  }

  #store(server: string, tools: readonly Json[]): void {
    const { file, onFailed } = this.#options
    if (file === undefined) return
    const written = file.update((pins) => checkDefinitions(pins, server, { tools, policy: 'pin' }).pins)
    this.#writing = Promise.allSettled([this.#writing, written.catch(onFailed)]).then(() => undefined)
  }
}
