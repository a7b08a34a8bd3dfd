/** A compiled schema, independent of its validator. */
import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Json } from '../../protocol/index.ts'

export type Checked = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly issues: string }

/** A compiled schema: its JSON Schema, and the check. */
export interface Schema {
  readonly json: Json
  check(value: unknown): Checked | Promise<Checked>
}

export const DRAFT_2020 = 'https://json-schema.org/draft/2020-12/schema'
const DRAFT_07 = 'http://json-schema.org/draft-07/schema'

/** The dialect of a plain JSON Schema. Throws if it is none that we check. */
export function assertDialect(json: Json, what: string): string {
  const named = json['$schema']
  const dialect = typeof named === 'string' ? named.replace(/#$/, '') : DRAFT_2020
  if (dialect === DRAFT_2020 || dialect === DRAFT_07) return dialect
  throw new TypeError(`${what} uses the dialect ${dialect}; 2020-12 and draft-07 are supported.`)
}

/** `what` names the schema in errors. */
export function unusable(what: string, cause: unknown): TypeError {
  return new TypeError(`${what} is not a usable JSON Schema: ${(cause as Error).message}`, { cause })
}

const MAX_ISSUES = 10
export const MAX_ISSUE_CHARS = 300

/** The first few issues, each shortened, so that a large wrong value does not make a large answer. */
export function describeIssues(issues: readonly StandardSchemaV1.Issue[]): string {
  return issues
    .slice(0, MAX_ISSUES)
    .map(({ path, message }) => (path === undefined || path.length === 0 ? message : `${dotted(path)}: ${message}`))
    .map((issue) => (issue.length > MAX_ISSUE_CHARS ? `${issue.slice(0, MAX_ISSUE_CHARS)}…` : issue))
    .join('; ')
}

function dotted(path: NonNullable<StandardSchemaV1.Issue['path']>): string {
  return path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.')
}
