/**
 * Addresses of instances: those advertised and those of peers, from options and variables, and the check of this
 * instance's own.
 */
import type { networkInterfaces } from 'node:os'
import { host as ownProcess, type Logger, nodeModule, unref } from '../protocol/index.ts'
import type { Self } from './instance.ts'
import { discard, type Messenger } from './messenger.ts'
import { ADDRESS_CHECK_EVERY_MS, ADDRESS_CHECKS, MAX_ADDRESS_CHECKS } from './times.ts'

/** Validates the configured address of an endpoint. `setting`: the option or variable that holds it, for the error. */
export function readAdvertised(text: string, setting: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isPlain = url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
  if (isPlain && url.hash === '' && url.search === '') return url.href
  throw new TypeError(
    `${setting} must be an address of an endpoint as other instances reach it, such as "http://10.0.0.7:3000/mcp".`,
  )
}

/** The address that this instance advertises, from the option or PANNIER_ADVERTISE. */
export function advertisedAddress(option: string | undefined): string | undefined {
  if (option !== undefined) return readAdvertised(option, 'The option "advertise"')
  const advertised = env('PANNIER_ADVERTISE')
  return advertised === undefined ? undefined : readAdvertised(advertised, 'PANNIER_ADVERTISE')
}

/** The addresses of other instances, from the option or PANNIER_PEERS. */
export function peerAddresses(option: readonly string[] | undefined): readonly string[] {
  if (option !== undefined) return option.map((address) => readAdvertised(address.trim(), 'The option "peers"'))
  const listed = env('PANNIER_PEERS')?.split(',') ?? []
  return listed.map((address) => readAdvertised(address.trim(), 'PANNIER_PEERS'))
}

/**
 * The host at which other instances reach a server that listens on this address. For a wildcard address it is an
 * address of the machine, or loopback where the machine has no other.
 */
export function reachableHost(address: string, interfaces?: typeof networkInterfaces): string {
  const host =
    address === '0.0.0.0' || address === '::'
      ? ownAddress(interfaces ?? nodeModule('node:os').networkInterfaces)
      : address
  return host.includes(':') ? `[${host}]` : host
}

function ownAddress(interfaces: typeof networkInterfaces): string {
  const all = Object.values(interfaces()).flatMap((list) => list ?? [])
  // Link-local addresses are valid on one link only and need its zone id.
  const usable = all.filter(({ internal, address }) => !internal && !/^(?:169\.254\.|fe80:)/i.test(address))
  const own = usable.find(({ family }) => family === 'IPv4') ?? usable[0]
  return own?.address ?? '127.0.0.1'
}

/** An empty variable counts as unset. */
function env(name: string): string | undefined {
  return ownProcess?.env?.[name] || undefined
}

export interface AddressCheckOptions {
  readonly self: Self
  readonly messenger: Pick<Messenger, 'send'>
  readonly logger: () => Logger
}

export class AddressCheck {
  readonly #options: AddressCheckOptions
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(options: AddressCheckOptions) {
    this.#options = options
  }

  /**
   * Sends messages to the instance's own address. With a wrong address the other instances would take this one for gone
   * and resume its calls while it still runs them, so it advertises none until the check passes.
   */
  async check(): Promise<void> {
    const { self } = this.#options
    const { url } = self
    const why = await this.#strayed(url)
    if (why === undefined) return
    self.url = undefined
    this.#options
      .logger()
      .warn(
        { advertise: url, why },
        'This instance does not reach itself at the address to advertise, so it advertises none. The address must not be that of a load balancer.',
      )
    this.#checkAgain(url, MAX_ADDRESS_CHECKS)
  }

  stop(): void {
    this.#isStopped = true
    clearTimeout(this.#timer)
  }

  #checkAgain(url: string | undefined, left: number): void {
    if (this.#isStopped) return
    const check = async (): Promise<void> => {
      if ((await this.#strayed(url)) !== undefined) return this.#checkAgain(url, left - 1)
      this.#options.self.url = url
      this.#options
        .logger()
        .info({ advertise: url }, 'This instance reaches itself at the address that it advertises now.')
    }
    if (left > 0) this.#timer = unref(setTimeout(() => void check(), ADDRESS_CHECK_EVERY_MS))
  }

  /**
   * The reason why messages to this address do not arrive here, if any. Behind a balancer, only some of the others
   * would do so.
   */
  async #strayed(url: string | undefined): Promise<string | undefined> {
    for (let sent = 0; sent < ADDRESS_CHECKS; sent++) {
      const delivery = await this.#options.messenger.send({ id: this.#options.self.id, url }, { kind: 'hello' })
      if (delivery.kind !== 'delivered') return delivery.why
      await discard(delivery.response)
    }
    return undefined
  }
}
