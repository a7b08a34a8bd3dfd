/** What is known so far. Each step of the probe fills one place; nothing is ever taken back. */
import { isObject, type Json } from '../../protocol/index.ts'
import { capabilityScore } from '../methods/capabilityScore.ts'
import { type Declared, readDeclared } from '../methods/declared.ts'
import { type EraFinding, legacyAmong } from '../methods/era.ts'
import { type Heard, isResult } from '../wire/reply.ts'
import type { Listened } from '../wire/sse.ts'
import { sequentialResult } from '../methods/sequential.ts'
import type { Method, MethodResult } from '../methods/result.ts'

/** The steps, each at most once. */
export type Step = 'era' | 'modernList' | 'initialize' | 'bareList' | 'barePing' | 'oldStream' | 'control'

export interface Findings {
  readonly transport: 'http' | 'stdio'
  readonly metadata: MethodResult
  readonly era?: EraFinding
  /** A list in the stateless revision. */
  readonly modernList?: Heard
  readonly initialize?: Heard
  /** `tools/list` on a connection that never saw `initialize`. */
  readonly bareList?: Heard
  /** `ping`, in the same way. */
  readonly barePing?: Heard
  /** A GET, where the older transport would begin. */
  readonly oldStream?: Listened | Heard
  /** `tools/list` as after `initialize`: on the same connection, or with what that gave. */
  readonly control?: Heard
}

/** What each method says about these findings; those that have nothing to go by are left out. */
export function methodsOf(findings: Findings): Partial<Record<Method, MethodResult>> {
  const { initialize, bareList, metadata } = findings
  return {
    ...(initialize !== undefined && { sequential: sequentialResult(initialize, bareList) }),
    ...(isResult(initialize) && { capabilities: capabilityScore(initialize.result) }),
    metadata,
  }
}

/** What the server said about itself, in either era. */
export function aboutOf({ era, initialize }: Findings): Json | undefined {
  return era?.discovered ?? (isResult(initialize) ? initialize.result : undefined)
}

export function declaredBy(findings: Findings): Declared | undefined {
  const about = aboutOf(findings)
  return about && readDeclared(about)
}

/** Whether there is a server over HTTP that lets the probe in. */
export function isServed({ transport, initialize, era }: Findings): boolean {
  return transport === 'http' && (isResult(initialize) || era?.era === 'modern')
}

/** The session that `initialize` began. */
export function sessionOf({ initialize }: Findings): string | undefined {
  return isResult(initialize) ? initialize.http?.session : undefined
}

/** What a client sends along after `initialize`. */
export function sessionHeaders(findings: Findings): Record<string, string> {
  const session = sessionOf(findings)
  const version = versionsOf(findings)[0]
  return {
    ...(session !== undefined && { 'mcp-session-id': session }),
    ...(version !== undefined && { 'mcp-protocol-version': version }),
  }
}

/** The revisions that a server is known to speak: all it named, or the one that was agreed on. */
export function versionsOf({ era, initialize }: Findings): readonly string[] {
  if (era !== undefined && era.versions.length > 0) return era.versions
  const version = isResult(initialize) ? initialize.result['protocolVersion'] : undefined
  return typeof version === 'string' && /^\d{4}-\d\d-\d\d$/.test(version) ? [version] : []
}

export function speaksLegacy(findings: Findings): boolean {
  return findings.era !== undefined && legacyAmong(findings.era.versions).length > 0
}

/** The list to ask for: of tools, or of whatever else there is. Undefined where nothing is offered. */
export function listMethodOf(about: Json): string | undefined {
  const capabilities = isObject(about['capabilities']) ? about['capabilities'] : {}
  const kind = ['tools', 'prompts', 'resources'].find((name) => isObject(capabilities[name]))
  return kind && `${kind}/list`
}
