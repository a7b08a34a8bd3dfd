/** In place of jsonSchema.ts in Workers: they may not generate code while they serve a request. */
import type { Json } from '../../protocol/index.ts'
import { assertDialect, type Schema, unusable } from './check.ts'
import { interpretedCheck } from './interpreter.ts'

export function compileJsonSchema(json: Json, what: string): Schema {
  try {
    assertDialect(json, what)
    return { json, check: interpretedCheck(json) }
  } catch (cause) {
    throw unusable(what, cause)
  }
}
