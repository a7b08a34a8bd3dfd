/** One run: processes, clients and faults of a seed, until all calls are over, and what was violated meanwhile. */
import { INSTANCE_HEADER } from '../../src/cluster/messenger.ts'
import { isGivenRejection } from '../../src/journal/index.ts'
import type { Json } from '../../src/protocol/index.ts'
import { keyringOf, messageSealer } from '../../src/server/internal.ts'
import { Fleet } from './fleet.ts'
import { installGlobals } from './globals.ts'
import { FAIR, fetchOver, Network, type SealedMessage } from './network.ts'
import { Observer, OUTCOME_WITHIN_MS } from './observer.ts'
import { type Climate, type Directory, type Plan, planOf } from './plan.ts'
import { SERVER } from './process.ts'
import { SessionClient } from './sessionClient.ts'
import { StatelessClient } from './statelessClient.ts'
import { Database } from './stores.ts'
import { TOOLS, type ToolName } from './tools.ts'
import { World } from './world.ts'

export interface RunOptions {
  readonly seed: number
  /** @default 3 */
  readonly processes?: number
  /** @default as the seed decides */
  readonly directory?: Directory | undefined
  /** @default as the seed decides */
  readonly climate?: Climate | undefined
  /** Whether the report has every message. @default false */
  readonly isTraced?: boolean
  /** @default as the seed decides, from 2 to 5 */
  readonly clients?: number
  /** How likely a client cancels a call. @default as the seed decides for each */
  readonly cancels?: number
  /** Whether the messages between processes are counted. @default false */
  readonly isCounted?: boolean
}

export interface RunReport extends Pick<Plan, 'climate' | 'directory'> {
  readonly seed: number
  readonly violations: readonly string[]
  readonly messages: readonly string[]
  /** How the calls ended, one entry for each. */
  readonly outcomes: readonly string[]
  readonly steps: number
  readonly virtualMs: number
  /** How many messages of calls the processes sent each other, if they are counted. */
  readonly sent: number
}

/** The last calls may leave something that ends by itself within this time. */
const SETTLED_MS = 4000
/** The messages by which processes know each other. They come with time and with each start, and not with calls. */
const MEMBERSHIP = /^(?:hello|who is there|stopping|bye|recent|events instance-lost$)/

export async function simulate(options: RunOptions): Promise<RunReport> {
  const { seed, processes = 3, isTraced = false, isCounted = false } = options
  const world = new World(seed, isTraced)
  const { random } = world
  const plan = planOf(random.fork(), definedOf(options))
  const network = new Network(world, random.fork())
  network.weather = plan.network
  const label = messageLabel()
  let sent = 0
  const onSent = (message: SealedMessage): void => {
    if (isCounted && !MEMBERSHIP.test(label(message))) sent++
  }
  const restore = installGlobals(world, random.fork(), fetchOver(network, label, onSent))
  const rejections = unhandledRejections()
  try {
    const database = plan.directory === 'database' ? new Database(world, random.fork()) : undefined
    const observer = new Observer({
      world,
      hasLedger: database !== undefined,
      wasGone: (process) => fleet.wasGone(process),
      isThere: (process) => fleet.isThere(process),
      isDisturbed: () => fleet.isDisturbed || plan.network !== FAIR,
      areClaimsLost: () => database === undefined && (fleet.hasKeeperFailed || plan.network.cut > 0),
    })
    const fleet = new Fleet({
      world,
      network,
      database,
      random: random.fork(),
      chance: random.fork(),
      count: processes,
      onEffect: (effect) => observer.onEffect(effect),
      onRun: (call, process) => observer.onRun(call, process),
    })
    for (const fault of plan.faults) fleet.suffer(fault)
    const clients = clientsOf(options, plan, { world, network, observer, balance: fleet.balance })
    world.onStep = () => {
      for (const rejection of rejections.list.splice(0)) observer.violate(`unhandled rejection: ${rejection}`)
    }
    const isOver = (): boolean => observer.violations.length > 0 || clients.every(({ isDone }) => isDone)
    await world.run(isOver, OUTCOME_WITHIN_MS * 2)
    observer.findHanging()
    if (observer.violations.length === 0) {
      await world.run(() => false, world.now + SETTLED_MS)
      observer.findRepeats()
      findLeftovers(fleet, observer)
      if (plan.faults.length === 0 && plan.network.cut === 0) findDoubts(fleet, observer)
    }
    const outcomes = Array.from(observer.calls.values(), ({ outcome }) => outcome ?? 'none')
    const { climate, directory } = plan
    const { violations } = observer
    const { messages, steps, now: virtualMs } = world
    return { seed, climate, directory, violations, messages, outcomes, steps, virtualMs, sent }
  } finally {
    rejections.stop()
    restore()
  }
}

function definedOf({ climate, directory }: RunOptions): Partial<Pick<Plan, 'climate' | 'directory'>> {
  return { ...(climate !== undefined && { climate }), ...(directory !== undefined && { directory }) }
}

type Shared = Pick<ConstructorParameters<typeof SessionClient>[0], 'world' | 'network' | 'observer' | 'balance'>

function clientsOf(
  { clients, cancels }: RunOptions,
  { network }: Plan,
  shared: Shared,
): readonly { readonly isDone: boolean }[] {
  const { random } = shared.world
  const count = clients ?? 2 + random.below(4)
  const names = Object.keys(TOOLS) as ToolName[]
  return Array.from({ length: count }, (_, index) => {
    const name = `c${index}`
    const tools = Array.from({ length: 1 + random.below(2) }, () => random.pick(names))
    const own = { ...shared, name, tools, random: random.fork() }
    if (random.chance(0.3)) return new StatelessClient(own)
    const echoes = random.chance(0.5)
    const repeats = network.cut > 0 || echoes || random.chance(0.3)
    return new SessionClient({ ...own, echoes, repeats, cancels: cancels ?? (random.chance(0.2) ? 0.5 : 0) })
  })
}

/**
 * What the processes hold after all calls. A call whose cancellation was lost with a process waits until its time is over, and so
 * does one that went on twice.
 */
function findLeftovers(fleet: Fleet, observer: Observer): void {
  const calls = [...observer.calls.values()]
  const mayWait = calls.some((call) => (fleet.isDisturbed && call.isCancelled) || observer.mayFork(call))
  for (const { host, inFlight, isThere } of fleet.processes) {
    if (!isThere || host.state === 'frozen') continue
    const waiting = [...host.timers].filter(({ label }) => label === 'late').length
    if (!mayWait && inFlight > 0) observer.violate(`${host.name} has ${inFlight} calls in flight after the end`)
    if (!mayWait && waiting > 0) observer.violate(`${host.name} waits for ${waiting} answers after the end`)
  }
}

/** No process is taken for gone because a message arrived late or twice. */
function findDoubts(fleet: Fleet, observer: Observer): void {
  for (const { host, isDoubted } of fleet.processes)
    if (isDoubted) observer.violate(`${host.name} was taken for gone, although it was there`)
}

/** Names a message between processes. */
function messageLabel(): (sent: SealedMessage) => string {
  const sealer = messageSealer({ keyring: keyringOf(SERVER), audience: SERVER.name, clock: () => Date.now() })
  return ({ headers, body }) => {
    try {
      const to = sealer.open('instance', { method: 'pass' }, headers[INSTANCE_HEADER] ?? '').body
      const sealed = sealer.open('instance', { method: 'message', name: String(to) }, body).body
      const [, message] = sealed as [unknown, Json]
      const events = (message['events'] ?? []) as readonly Json[]
      const parts = [
        message['kind'] ?? 'who is there',
        message['method'],
        message['op'],
        message['id'],
        ...events.map(({ kind }) => kind),
      ]
      return parts.flatMap((part) => (typeof part === 'string' ? [part] : [])).join(' ')
    } catch {
      return 'a message that is too old'
    }
  }
}

/** The rejections that no code handles; `stop` ends the list. */
function unhandledRejections(): { readonly list: string[]; stop(): void } {
  const list: string[] = []
  const listen = (reason: unknown, promise: unknown): void => {
    if (isGivenRejection(reason, promise)) return
    list.push(reason instanceof Error ? (reason.stack ?? reason.message) : String(reason))
  }
  process.on('unhandledRejection', listen)
  return { list, stop: () => process.off('unhandledRejection', listen) }
}
