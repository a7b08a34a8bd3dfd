/** Finds out whether a server keeps something between calls, and does so again every hour. */
import { isDeepStrictEqual } from 'node:util'
import type { Implementation } from '@modelcontextprotocol/client'
import type { Address } from '../../client/index.ts'
import { probe, type Verdict } from '../../probe/index.ts'
import { sleep } from '../../protocol/index.ts'
import { announce, type ServerLog } from '../announce.ts'
import type { Link } from '../links/link.ts'

export interface BackgroundProberOptions {
  readonly server: string
  /** Where to probe, with the credentials of now. */
  readonly address: () => Promise<Address>
  readonly log: ServerLog
  readonly onVerdict: () => void
}

const HOUR_MS = 3_600_000
/** After the first probe that could not say anything. */
const SOON_MS = 30_000
/** However often a verdict is doubted. */
const DOUBTED_MS = 1000

const STATEFUL =
  'A server keeps something between calls, so each caller has a process or a session of their own there, which is lost when the gateway or the server ends.'

/** How long to wait until the next probe. A server that was slow to start may be judged soon; one that never is, ever less often. */
export function pauseAfter(failures: number): number {
  return failures === 0 ? HOUR_MS : Math.min(HOUR_MS, SOON_MS * 2 ** Math.min(failures - 1, 10))
}

/** How long a verdict is not doubted again. A server that contradicts itself whatever is found is probed ever less often. */
export function pauseAfterDoubts(needless: number): number {
  return Math.min(HOUR_MS, DOUBTED_MS * 2 ** Math.min(needless, 20))
}

export class BackgroundProber {
  verdict: Verdict | undefined
  readonly #options: BackgroundProberOptions
  readonly #first = Promise.withResolvers<void>()
  #onDoubt: () => void = () => {}
  #isRunning = false
  #isDoubted = false
  #version: string | undefined

  constructor(options: BackgroundProberOptions) {
    this.#options = options
  }

  /** Resolves when there is a verdict, or it is known that there is none now. */
  get judged(): Promise<void> {
    return this.#first.promise
  }

  /** How old the verdict is, in seconds; undefined where there is none. */
  get ageSeconds(): number | undefined {
    return this.verdict === undefined ? undefined : Math.round((Date.now() - this.verdict.checkedAt) / 1000)
  }

  /** Probes until the signal aborts: every hour, and soon after the verdict was doubted. */
  async run(signal: AbortSignal): Promise<void> {
    this.#isRunning = true
    let needless = 0
    for (let failures = 0; !signal.aborted; ) {
      const doubted = Promise.withResolvers<void>()
      this.#onDoubt = doubted.resolve
      const before = this.verdict?.state
      const wasDoubted = this.#isDoubted
      this.#isDoubted = false
      const found = await this.#probe(signal).catch(() => undefined)
      const isKnown = found !== undefined && found.state !== 'UNKNOWN'
      if (isKnown) this.#take(found)
      needless = wasDoubted && this.verdict?.state === before ? needless + 1 : 0
      failures = isKnown ? 0 : failures + 1
      this.#first.resolve()
      this.#options.onVerdict()
      const over = new AbortController()
      const pause = sleep(pauseAfter(failures), AbortSignal.any([signal, over.signal])).catch(() => {})
      await Promise.race([pause, doubted.promise])
      over.abort()
      await sleep(pauseAfterDoubts(needless), signal).catch(() => {})
    }
  }

  /** Something contradicts the verdict, so that the server is probed again. False where that is about to be done already. */
  doubt(): boolean {
    if (this.#isDoubted) return false
    this.#isDoubted = this.#isRunning
    this.#onDoubt()
    return true
  }

  /** Another version of a server may keep what the one before did not. */
  sawVersion(info: Implementation | undefined): void {
    const version = JSON.stringify([info?.name, info?.version])
    if (this.#version !== undefined && this.#version !== version) this.doubt()
    this.#version = version
  }

  async #probe(signal: AbortSignal): Promise<Verdict> {
    // Reading files would keep the thread from callers, and what they say is a guess, which shares no process.
    return probe(await this.#options.address(), { signal, checks: 'none', program: false })
  }

  /** Nobody waits for a verdict any longer. */
  skip(): void {
    this.#first.resolve()
  }

  #take(verdict: Verdict): void {
    const isNews = this.verdict?.state !== verdict.state
    this.verdict = verdict
    if (!isNews) return
    const { server, log } = this.#options
    const { state, confidence, message } = verdict
    const kept = state === 'STATEFUL' ? state : undefined
    announce(log, `${server} keeps something`, kept, () =>
      log.logger().warn({ server, state, confidence, why: message }, STATEFUL),
    )
  }
}

/** What a server has said when a link was opened. */
export type SaidOnLink = Pick<Link, 'era' | 'hasSession' | 'about'>

/**
 * Whether what was found out on the one link may not hold on the other: the server says different things of itself, so one
 * of the links is of before an upgrade.
 */
export function contradict(one: SaidOnLink, other: SaidOnLink): boolean {
  return !isDeepStrictEqual(judgedBy(one), judgedBy(other))
}

function judgedBy({ era, hasSession, about }: SaidOnLink): object {
  const { name, version, architecture } = (about.info ?? {}) as Partial<Record<string, unknown>>
  return { era, hasSession, name, version, architecture, session: about.capabilities['session'] }
}
