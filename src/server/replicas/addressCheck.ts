/** Whether the address that an instance advertises leads to it. */
import { unref } from '../../protocol/index.ts'
import type { Logger } from '../logger.ts'
import type { Self } from './instance.ts'
import { discard, type Messenger } from './messenger.ts'

export interface AddressCheckOptions {
  readonly self: Self
  readonly messenger: Pick<Messenger, 'send'>
  readonly logger: () => Logger
}

const ADDRESS_CHECKS = 3
// What is before the instance may take a while to lead there.
const CHECK_EVERY_MS = 1000
const MAX_CHECKS = 60

export class AddressCheck {
  readonly #options: AddressCheckOptions

  constructor(options: AddressCheckOptions) {
    this.#options = options
  }

  /**
   * Sends itself messages by its own address. A wrong one would make this instance look gone to all others, who would go
   * on with its calls beside it. So then it has none, until the address leads to it.
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
    this.#checkAgain(url, MAX_CHECKS)
  }

  #checkAgain(url: string | undefined, left: number): void {
    const check = async (): Promise<void> => {
      if ((await this.#strayed(url)) !== undefined) return this.#checkAgain(url, left - 1)
      this.#options.self.url = url
      this.#options
        .logger()
        .info({ advertise: url }, 'This instance reaches itself at the address that it advertises now.')
    }
    if (left > 0) unref(setTimeout(() => void check(), CHECK_EVERY_MS))
  }

  /** Why messages to this address do not come here. Behind that of a balancer only some of them would. */
  async #strayed(url: string | undefined): Promise<string | undefined> {
    for (let sent = 0; sent < ADDRESS_CHECKS; sent++) {
      const delivery = await this.#options.messenger.send({ id: this.#options.self.id, url }, { kind: 'hello' })
      if (delivery.kind === 'gone') return delivery.why
      await discard(delivery.response)
    }
    return undefined
  }
}
