/** What does not work where several gateways have no keys in common, or no database. It is logged once. */
import { unref } from '../protocol/index.ts'
import type { Logger } from '../server/internal.ts'
import type { Backend } from './backends/backend.ts'
import type { GatewayOptions } from './options.ts'

/** Whether somebody gave the gateway keys, so that it makes none. */
export function hasKeys({ keys, settings }: Pick<GatewayOptions, 'keys' | 'settings'>): boolean {
  return (keys ?? settings.keys ?? process.env['PANNIER_KEYS']) !== undefined
}

/** Undefined where there are keys, or nothing says that there are other gateways. */
export function missingKeys(options: Pick<GatewayOptions, 'keys' | 'settings' | 'postgres'>): string | undefined {
  if (hasKeys(options)) return undefined
  const variables = ['PANNIER_PEERS', 'PANNIER_ADVERTISE'].filter((name) => process.env[name])
  const hasDatabase = (options.postgres ?? options.settings.postgres) !== undefined
  const [how] = [...variables, ...(hasDatabase ? ['PostgreSQL'] : [])]
  if (how === undefined) return undefined
  return `This gateway is to work with others (${how}), and has no keys: it made one of its own, so that the others can open neither its sessions and waiting calls nor its messages. Give all of them the same PANNIER_KEYS (pannier keys new).`
}

/** Gateways may meet long after the start. */
const LOOK_EVERY_MS = 5000

export class SetupWarnings {
  readonly #shared: () => readonly Backend[]
  #timer: ReturnType<typeof setTimeout> | undefined
  #hasEnded = false

  /** `shared`: the servers that other gateways serve as well, as far as is known; none where there is a database. */
  constructor(shared: () => readonly Backend[]) {
    this.#shared = shared
  }

  /** Logs the sentence as soon as it is true. */
  watch(logger: () => Logger): void {
    if (this.#hasEnded) return
    const sentence = this.#sentence
    if (sentence !== undefined) return logger().warn({}, sentence)
    this.#timer = unref(setTimeout(() => this.watch(logger), LOOK_EVERY_MS))
  }

  close(): void {
    this.#hasEnded = true
    clearTimeout(this.#timer)
  }

  /** Undefined where everything works. */
  get #sentence(): string | undefined {
    const names = this.#shared()
      .filter(({ about, isShared }) => about !== undefined && !isShared)
      .map(({ name }) => `"${name}"`)
    if (names.length === 0) return undefined
    const keeps = names.length === 1 ? 'which may keep' : 'which may each keep'
    return `Several gateways serve ${names.join(', ')}, ${keeps} something for each caller, and they have no PostgreSQL: what was kept is lost with the gateway that served the caller, and some callers begin anew when a gateway is added. Start all of them with --postgres URL.`
  }
}
