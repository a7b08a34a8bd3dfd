/** Checks that the advertised address leads to this instance. */
import { type Logger, unref } from '../protocol/index.ts'
import type { Self } from './instance.ts'
import { discard, type Messenger } from './messenger.ts'
import { ADDRESS_CHECK_EVERY_MS, ADDRESS_CHECKS, MAX_ADDRESS_CHECKS } from './times.ts'

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
        'This instance does not reach itself at the address that it advertises, so it tells nobody. It must not be the address of a load balancer.',
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

  /** The reason why messages to this address do not arrive here. Behind a balancer only some of them would. */
  async #strayed(url: string | undefined): Promise<string | undefined> {
    for (let sent = 0; sent < ADDRESS_CHECKS; sent++) {
      const delivery = await this.#options.messenger.send({ id: this.#options.self.id, url }, { kind: 'hello' })
      if (delivery.kind !== 'delivered') return delivery.why
      await discard(delivery.response)
    }
    return undefined
  }
}
