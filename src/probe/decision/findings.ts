/** The findings so far. Each step adds its member; none is removed. */
import { isObject, type Json } from '../../protocol/index.ts'
import { capabilityScore } from '../methods/capabilityScore.ts'
import { type Declared, readDeclared } from '../methods/declared.ts'
import type { EraFinding } from '../methods/era.ts'
import { type ProbeReply, isResult } from '../wire/reply.ts'
import type { StreamReply } from '../wire/sse.ts'
import { sequentialResult } from '../methods/sequential.ts'
import type { Method, MethodResult } from '../methods/result.ts'
import { toolsIn } from '../methods/toolHandles.ts'
import { toolsResult } from '../methods/tools.ts'
import { programResult } from '../methods/program/program.ts'
import type { ProgramFacts } from '../methods/program/signals.ts'

/** The steps, each at most once. */
export type Step = 'era' | 'modernList' | 'initialize' | 'bareList' | 'barePing' | 'sseStream' | 'control'

export interface Findings {
  readonly transport: 'http' | 'stdio'
  readonly metadata: MethodResult
  readonly era?: EraFinding
  /** A list, asked for in the stateless revision. */
  readonly modernList?: ProbeReply
  readonly initialize?: ProbeReply
  /** `tools/list` on a connection that never saw `initialize`. */
  readonly bareList?: ProbeReply
  /** `ping` on such a connection. */
  readonly barePing?: ProbeReply
  /** The stream of a GET, with which the HTTP+SSE transport would begin. */
  readonly sseStream?: StreamReply | ProbeReply
  /** `tools/list` after `initialize`, in the same session or process. */
  readonly control?: ProbeReply
  /** `tools/list` in a session, from a second connection. */
  readonly inSession?: ProbeReply
  /** The judgement by the program's files, if they were found. */
  readonly program?: ProgramFacts
  /** The call that the user named, in one process twice and in a fresh one. */
  readonly witness?: WitnessReplies
}

/** The answer to the call that the user named. */
export interface WitnessReplies {
  readonly tool: string
  readonly first: ProbeReply
  readonly second: ProbeReply
  /** From a process, or over HTTP from a session, that has got no other call. */
  readonly fresh: ProbeReply
}

/** The tools, from any answered list. */
export function toolsOf({ modernList, bareList, control, inSession }: Findings): readonly Json[] | undefined {
  const list = [modernList, bareList, control, inSession]
    .filter(isResult)
    .find(({ result }) => Array.isArray(result['tools']))
  return list && toolsIn(list.result)
}

/** The result of each method that has the findings it needs. */
export function methodsOf(findings: Findings): Partial<Record<Method, MethodResult>> {
  const { initialize, bareList, metadata, program } = findings
  const tools = toolsOf(findings)
  const { capabilities } = selfDescriptionOf(findings) ?? {}
  return {
    ...(initialize !== undefined && { sequential: sequentialResult(initialize, bareList) }),
    ...(isResult(initialize) && { capabilities: capabilityScore(initialize.result) }),
    metadata,
    ...(tools !== undefined && { tools: toolsResult(tools, isObject(capabilities) ? capabilities : {}) }),
    ...(program !== undefined && { program: programResult(program) }),
  }
}

/** The result of `server/discover` or of `initialize`, in which a server describes itself. */
export function selfDescriptionOf({ era, initialize }: Findings): Json | undefined {
  return era?.discovered ?? (isResult(initialize) ? initialize.result : undefined)
}

export function declaredBy(findings: Findings): Declared | undefined {
  const about = selfDescriptionOf(findings)
  return about && readDeclared(about)
}

/** Whether the server is reached over HTTP and accepts the probe's credentials. */
export function isServed({ transport, initialize, era }: Findings): boolean {
  return transport === 'http' && (isResult(initialize) || era?.era === 'modern')
}

/** The session that `initialize` began. */
export function sessionOf({ initialize }: Pick<Findings, 'initialize'>): string | undefined {
  return isResult(initialize) ? initialize.http?.session : undefined
}

/** The headers that a client sends after `initialize`. */
export function sessionHeaders(findings: Pick<Findings, 'initialize' | 'era'>): Record<string, string> {
  const session = sessionOf(findings)
  const version = versionsOf(findings)[0]
  return {
    ...(session !== undefined && { 'mcp-session-id': session }),
    ...(version !== undefined && { 'mcp-protocol-version': version }),
  }
}

/** The revisions that a server is known to support: all that it named, or the one that `initialize` agreed on. */
export function versionsOf({ era, initialize }: Pick<Findings, 'initialize' | 'era'>): readonly string[] {
  if (era !== undefined && era.versions.length > 0) return era.versions
  const version = isResult(initialize) ? initialize.result['protocolVersion'] : undefined
  return typeof version === 'string' && /^\d{4}-\d\d-\d\d$/.test(version) ? [version] : []
}

/** The list method to call: tools, else prompts, else resources. Undefined if the server offers none. */
export function listMethodOf(about: Json): string | undefined {
  const capabilities = isObject(about['capabilities']) ? about['capabilities'] : {}
  const kind = ['tools', 'prompts', 'resources'].find((name) => isObject(capabilities[name]))
  return kind && `${kind}/list`
}
