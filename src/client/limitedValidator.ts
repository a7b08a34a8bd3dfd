/**
 * What tools return is checked by schemas that servers give, and a schema can be written so that its check takes years:
 * a pattern that backtracks, references that branch. Such a check is given up, as any other loop has an end.
 */
import { type Context, createContext, Script } from 'node:vm'
import type { JsonSchemaType, jsonSchemaValidator } from '@modelcontextprotocol/client'
import { isObject } from '../protocol/index.ts'

const LIMIT_MS = 1_000

export function limitedValidator(inner: jsonSchemaValidator, limitMs: number = LIMIT_MS): jsonSchemaValidator {
  return {
    getValidator<T>(schema: JsonSchemaType) {
      const validate = within(limitMs, () => inner.getValidator<T>(schema))
      return isPlain(schema) ? validate : (input: unknown) => within(limitMs, () => validate(input))
    },
  }
}

/** Whether a check takes no longer than to go through the schema and the value: then nobody needs to look at a clock. */
function isPlain(schema: JsonSchemaType): boolean {
  try {
    return !COSTLY.test(JSON.stringify(schema))
  } catch {
    return false
  }
}

const COSTLY = /"(pattern|patternProperties|propertyNames|format|uniqueItems|\$ref|\$dynamicRef|\$recursiveRef)":/

let room: (Context & { run?: () => void }) | undefined
const script = new Script('run()')

/** Only in a context of its own can code be stopped that never comes back. The function itself runs where it was made. */
function within<Result>(limitMs: number, run: () => Result): Result {
  room ??= createContext({})
  let outcome: { readonly result: Result } | undefined
  room.run = () => {
    outcome = { result: run() }
  }
  try {
    script.runInContext(room, { timeout: limitMs })
  } catch (error) {
    throw isTimeout(error) ? new Error(`The check took more than ${limitMs} ms; its schema is the server's.`) : error
  } finally {
    delete room.run
  }
  if (outcome === undefined) throw new Error('The check did not come to its end.')
  return outcome.result
}

// The error comes from the other context, whose classes are others.
function isTimeout(error: unknown): boolean {
  return isObject(error) && error['code'] === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
}
