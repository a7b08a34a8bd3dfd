import type { CheckName, Evidence } from '../report/evidence.ts'
import type { Findings } from '../decision/findings.ts'
import type { Settings } from '../options.ts'
import type { StreamReply } from '../wire/sse.ts'
import type { ProbeReply } from '../wire/reply.ts'
import type { ProbeWire } from '../wire/connection.ts'

/** The input of a check. Checks run in turn, and leave replies for later ones. */
export interface ProbeCheckContext {
  readonly wire: ProbeWire
  readonly findings: Findings
  readonly options: Settings
  /** The reply to GET, left by `get-stream`. */
  stream?: StreamReply | ProbeReply
  /** The reply on a second connection, left by `second-connection`. */
  second?: ProbeReply
}

export interface ProbeCheck {
  readonly name: CheckName
  /** Whether it runs without being named. */
  readonly isUsual: boolean
  /** The largest number of its requests; undefined if the check does not apply. */
  cost(context: ProbeCheckContext): number | undefined
  run(context: ProbeCheckContext): Promise<readonly Evidence[]> | readonly Evidence[]
}
