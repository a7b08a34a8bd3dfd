/** The audit log of a gateway: each call to a server, the decision of the rules, and the outcome. */
import { dirname, resolve } from 'node:path'
import { inspect } from 'node:util'
import * as telemetry from '@opentelemetry/api'
import {
  type AuditCaller,
  type AuditedAnswer,
  type AuditedCall,
  type AuditEntry,
  auditFolder,
  type AuditLog,
} from '../../audit/index.ts'
import type { Json } from '../../protocol/index.ts'
import type { AnswerWay } from '../../server/index.ts'
import { type Call, isLaterRound, type Logger, type Principal, shortened } from '../../server/internal.ts'
import { digestOf } from '../../state/internal.ts'
import type { Keyring } from '../../state/seal/index.ts'
import type { CallOutcome, CallTarget } from './outcome.ts'
import { traceIdOf, type TraceFields } from './tracing.ts'

/** The place and the content of the audit log. */
export interface AuditSettings {
  /** The folder of the files, relative to that of mcp.json. @default none: it is required */
  readonly folder: string
  /** Whether an entry has a digest of the call's arguments, or the arguments as well. @default 'digest' */
  readonly arguments: 'digest' | 'full'
  /** How many days a file is kept. @default 365 */
  readonly keepDays: number
}

/** A call as it is recorded. */
export interface AuditSubject {
  readonly call: Call
  readonly route: string
  readonly target: CallTarget
  /** The arguments for the server. */
  readonly args: Json | undefined
  readonly trace?: TraceFields
}

export interface AuditEnd {
  readonly outcome: CallOutcome
  readonly error: string | undefined
  readonly ms: number
}

export interface AuditDecision {
  /** Whether the call is denied, or only would be, by a rule in a dry run. */
  readonly isDenied: boolean
  readonly rule: string | undefined
  readonly failure: string | undefined
}

interface AnswerDetails {
  readonly by: Principal | undefined
  readonly way: AnswerWay | undefined
  readonly question: string | undefined
}

export interface AuditApproval extends AnswerDetails {
  readonly rule: string
  readonly isApproved: boolean
}

export interface AuditAnswer extends AnswerDetails {
  readonly action: string
}

export interface AuditedChange {
  readonly action: string
  readonly subject: string
  readonly outcome: 'done' | 'refused' | 'failed'
  readonly role: string
  readonly by: Principal | undefined
}

export class CallAudit {
  readonly #log: AuditLog
  readonly showsArguments: boolean

  constructor(log: AuditLog, settings: Pick<AuditSettings, 'arguments'>) {
    this.#log = log
    this.showsArguments = settings.arguments === 'full'
  }

  ended(subject: AuditSubject, { outcome, error, ms }: AuditEnd): void {
    this.#write({
      kind: 'call',
      ...this.#audited(subject),
      outcome,
      ...(error !== undefined && { error }),
      ms: Math.round(ms * 10) / 10,
      ...(isLaterRound(subject.call) && { isLaterRound: true }),
    })
  }

  decided(subject: AuditSubject, { isDenied, rule = '', failure }: AuditDecision): void {
    this.#write({
      kind: 'decision',
      ...this.#audited(subject),
      rule,
      outcome: 'deny',
      ...(!isDenied && { dryRun: true }),
      ...(failure !== undefined && { failure }),
    })
  }

  /** A rule made a call wait for its approval. */
  waits(subject: AuditSubject, rule: string): void {
    this.#write({ kind: 'decision', ...this.#audited(subject), rule, outcome: 'approve' })
  }

  /** An approver has answered, or somebody whom a server asks. */
  answered(subject: AuditSubject, answer: AuditApproval | AuditAnswer): void {
    const about = { ...this.#audited(subject), ...answered(answer) }
    if ('action' in answer) return this.#write({ kind: 'answer', ...about, action: answer.action })
    const outcome = answer.isApproved ? 'approved' : 'declined'
    this.#write({ kind: 'approval', ...about, rule: answer.rule, outcome })
  }

  /** A change in the console, or an attempt. */
  changed({ by, ...change }: AuditedChange): void {
    const caller = callerOf(by, undefined)
    this.#write({ kind: 'console', ...change, ...(caller && { caller }) })
  }

  close(): void {
    this.#log.close()
  }

  /** Each entry is a log record of OpenTelemetry, too. Its API has them from version 1.10 on. */
  #write(entry: AuditEntry): void {
    this.#log.write(entry)
    const { logs } = telemetry as Partial<typeof telemetry>
    logs?.getLogger('pannier').emit({ eventName: `pannier.audit.${entry.kind}`, body: { ...entry } })
  }

  #audited({ call, route, target, args, trace }: AuditSubject): AuditedCall {
    const { id, method, principal, peer } = call
    const caller = callerOf(principal, peer.client?.name)
    const traceId = trace && traceIdOf(trace)
    return {
      ...(id !== undefined && { id }),
      method,
      route,
      server: target.server,
      ...(target.name !== undefined && { name: target.name }),
      ...(caller !== undefined && { caller }),
      ...(args !== undefined && { argumentsDigest: digestFor(args) }),
      ...(args !== undefined && this.showsArguments && { arguments: args }),
      ...(traceId !== undefined && { traceId }),
    }
  }
}

function answered({ by, way, question }: AnswerDetails): AuditedAnswer {
  const answeredBy = by && callerOf(by, undefined)
  return {
    ...(answeredBy && { answeredBy }),
    ...(way !== undefined && { way }),
    ...(question !== undefined && { question }),
  }
}

/**
 * A call that was sent is recorded, whatever its arguments are: some have no canonical text, such as the number 1e400, or
 * values that are nested too deep.
 */
function digestFor(args: Json): string {
  try {
    return digestOf(args)
  } catch {
    return digestOf(inspect(args, { depth: Infinity, maxArrayLength: null, maxStringLength: null, compact: true }))
  }
}

function callerOf(principal: Principal | undefined, client: string | undefined): AuditCaller | undefined {
  const name = client === undefined ? undefined : { client: shortened(client) }
  if (principal === undefined) return name
  const { id, subject = id, issuer } = principal
  return { subject, ...(issuer !== undefined && { issuer }), ...name }
}

interface AuditedGateway {
  /** The mcp.json file. */
  readonly file?: string | undefined
  readonly settings: { readonly audit?: AuditSettings }
}

/** Undefined if the settings name no folder. Throws if it cannot be written to. */
export function openAudit(
  { file, settings: { audit: settings } }: AuditedGateway,
  keyring: Keyring,
  logger: () => Logger,
): CallAudit | undefined {
  if (settings === undefined) return undefined
  const folder = file === undefined ? settings.folder : resolve(dirname(file), settings.folder)
  try {
    const log = auditFolder({ folder, keyring, keepDays: settings.keepDays, logger })
    if (keyring.ephemeral) logger().warn({}, UNKEPT_KEYS)
    return new CallAudit(log, settings)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : ''
    throw new TypeError(`The audit log cannot be written to ${folder}: ${reason}`, { cause })
  }
}

const UNKEPT_KEYS =
  'The audit log is signed with a key that ends with this process, so its heads cannot be verified: set PANNIER_KEYS.'
