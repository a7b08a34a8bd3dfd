import type { Implementation } from '@modelcontextprotocol/client'
import type { Watch } from '../journal/index.ts'
import type { Keyring } from '../state/seal/index.ts'
import type { CarryStore, Ledger } from '../state/stores/index.ts'
import type { Architecture } from './catalog/capabilities.ts'
import type { Authenticator } from './auth/authenticator.ts'
import type { CarryMode, Difference } from './calls/carrier.ts'
import type { EventBus } from './lifecycle/eventBus.ts'
import type { GuardOptions } from './http/hostGuard.ts'
import type { Logger } from './logger.ts'
import type { Tasks } from './taskPort.ts'

/** Name and version, and what else a client may show of this server. */
export type ServerIdentity = Implementation

export interface Caching {
  /** How long a client may keep a list, in milliseconds. @default 0 */
  ttlMs?: number
  /** Whether the lists are the same for everyone. @default 'public', or 'private' when there is a `principal` hook */
  cacheScope?: 'public' | 'private'
}

export interface ServerOptions extends GuardOptions {
  name: string
  version: string
  title?: string
  websiteUrl?: string
  icons?: Implementation['icons']
  /** Advice for models on how to use this server. */
  instructions?: string

  /** The ring that seals what travels with clients. @default the variable PANNIER_KEYS, else a ring of this process alone */
  keys?: string | Keyring | undefined
  /** Who these seals are for: instances with the same keys and audience open each other's. @default `name` */
  audience?: string
  /** How long a client may take between two rounds, in seconds. @default 3600 */
  ttlSeconds?: number
  /** How long one call may live over all its rounds, in seconds. @default 86400, or four times ttlSeconds if that is more */
  maxCallSeconds?: number
  /** The largest state that travels with a client, in bytes; above it a store is needed. @default 65536 */
  maxStateBytes?: number
  /** Where a call's journal waits between rounds. @default 'client' */
  carry?: CarryMode
  /** Needed by every carry mode but 'client'. */
  store?: CarryStore
  /** Told when `carry: 'both'` finds that client and store disagree. */
  onDifference?: (difference: Difference) => void
  /** Where `once` claims its single use. @default the memory of this process */
  ledger?: Ledger

  /** Where calls go on that take long: `sqliteTasks` or `postgresTasks` of pannier/tasks. @default there are no tasks */
  tasks?: Tasks

  /** Who is calling: a hook, or a ready one such as `bearer()`. @default nobody is told from anybody */
  principal?: Authenticator
  /** How long session-era clients may use their session, in seconds. @default 86400 */
  sessionTtlSeconds?: number
  /** Whether clients of the session era are served. @default true */
  legacy?: boolean
  /**
   * What the server declares itself to be. Say 'stateful' where handlers keep something in this process between calls:
   * then only the session era is served, and only inside a session. @default 'stateless'
   */
  architecture?: Architecture

  /** Hints on the lists, for clients that cache. */
  caching?: Caching
  /** Entries on a page of a list. @default 1000 */
  pageSize?: number
  /** How often one question is asked before the call gives up. @default 5 */
  maxAsks?: number
  /** How many rounds one call may take before it is given up. @default 256 */
  maxRounds?: number
  /** Calls under way above which `checkpoint()` hands calls to other instances. @default no limit */
  maxInFlight?: number
  /** How long a handler may unwind after its round has ended, in milliseconds. @default 5000 */
  unwindMs?: number
  /** Whether the message of an error thrown by a tool is told to the model. @default true */
  exposeErrors?: boolean

  /**
   * The address of this instance's endpoint as other instances reach it, such as `http://10.0.0.7:3000/mcp`. What a
   * session-era client sends to another instance is forwarded there. @default PANNIER_ADVERTISE, else where it listens
   */
  advertise?: string
  /** Carries what instances tell each other. @default from one to the other, once they have met */
  bus?: EventBus
  /** Where the server writes what an operator should know. @default pino in the hosts, silent in `fetch` */
  logger?: Logger
  /** Sees which steps run and when rounds end; `pannier/testing` uses it. @default nobody watches */
  watch?: Watch
  /** Milliseconds since 1970. @default Date.now */
  clock?: () => number
}
