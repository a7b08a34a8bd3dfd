/** What the gateway and the page of the console send each other. */
import type { Json } from '../../../protocol/index.ts'
import type { ConsoleRole } from '../../consoleRole.ts'
import type { Principal } from '../../../server/index.ts'

export interface ConsoleViewer {
  readonly role: ConsoleRole
  /** Who it is, for people. */
  readonly name: string
  /** Absent for the holder of the token of this machine. */
  readonly principal?: Principal
}

/** The state of a topic: an item for each key. */
export type TopicItems = Readonly<Record<string, Json>>

/** The events of a stream: the first one has all items, each further one the changes. */
export interface TopicChanges {
  readonly isWhole: boolean
  readonly set: TopicItems
  readonly gone: readonly string[]
}

/** `GET /console/api/me`. */
export interface ConsoleVisitor {
  readonly role: ConsoleRole
  readonly name: string
  /** Whether it is by a login, which can end. */
  readonly hasLogin: boolean
}

/** A step of a login, which any process with the keys of the gateway can make. */
export interface LoginStep {
  readonly kind: 'login'
  readonly step: 'begin' | 'finish' | 'who'
  readonly cookie: string
  readonly query: string
  /** The address of the console as browsers reach it. */
  readonly console: string
}

/** What a process answers for the page. */
export type ConsoleRequest =
  | {
      readonly kind: 'read'
      readonly topic: string
      readonly query: Readonly<Record<string, string>>
      readonly viewer: ConsoleViewer
    }
  | { readonly kind: 'act'; readonly action: string; readonly params: Json; readonly viewer: ConsoleViewer }
  | LoginStep

export type ConsoleReply = { readonly value: Json } | { readonly refused: ConsoleRefusal }

/** Why the console does not do something, as the status of the answer and a sentence. */
export interface ConsoleRefusal {
  readonly status: number
  readonly error: string
}

/** Asks any process of the gateway that can answer. */
export type AskConsole = (request: ConsoleRequest) => Promise<ConsoleReply>
