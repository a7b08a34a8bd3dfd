import type { Json } from '../../protocol/index.ts'
import type { CheckName, Evidence } from '../report/evidence.ts'
import type { Findings } from '../decision/findings.ts'
import type { Listened } from '../wire/sse.ts'
import type { Heard } from '../wire/reply.ts'
import type { Wire } from '../wire/connection.ts'

/** A tool that the user says can be called without harm. */
export interface HarmlessCall {
  readonly name: string
  readonly arguments?: Json
}

export interface CheckOptions {
  readonly replicas: readonly URL[]
  readonly call: HarmlessCall | undefined
  /** The credentials of somebody else. */
  readonly otherHeaders: Readonly<Record<string, string>> | undefined
  /** How long to wait until a request state should have expired. */
  readonly expireMs: number | undefined
  readonly listenMs: number
  readonly signal: AbortSignal | undefined
}

/** What a check works with. */
export interface Scene {
  readonly wire: Wire
  readonly findings: Findings
  readonly options: CheckOptions
  /** What the stream of no request said, once it was asked for. */
  stream?: Listened | Heard
  /** The list that a second connection got, once it was asked for. */
  second?: Heard
}

export interface Check {
  readonly name: CheckName
  /** Whether it is made without being named. */
  readonly isUsual: boolean
  /** The most requests that it may take; undefined where there is nothing to check. */
  cost(scene: Scene): number | undefined
  run(scene: Scene): Promise<readonly Evidence[]> | readonly Evidence[]
}
