import type { Json } from '../protocol/index.ts'

export type Checked = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly issues: string }

/** A schema made ready: what the wire shows of it, and the check. */
export interface Schema {
  readonly json: Json
  check(value: unknown): Checked | Promise<Checked>
}
