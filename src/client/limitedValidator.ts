/**
 * A time limit for checking tool results. The schemas come from servers, and a schema can be written so that its check
 * takes years, by a regular expression that backtracks or by references that branch. Such a check is aborted.
 */
import { type Context, createContext, Script } from 'node:vm'
import type { JsonSchemaType, jsonSchemaValidator } from '@modelcontextprotocol/client'
import { isObject } from '../protocol/index.ts'

const LIMIT_MS = 1_000

export function limitedValidator(inner: jsonSchemaValidator, limitMs: number = LIMIT_MS): jsonSchemaValidator {
  return {
    getValidator<T>(schema: JsonSchemaType) {
      const validate = within(limitMs, () => inner.getValidator<T>(schema))
      return isCheap(schema) ? validate : (input: unknown) => within(limitMs, () => validate(input))
    },
  }
}

/** Whether a check takes only as long as reading schema and value. Such a check runs without a limit. */
function isCheap(schema: JsonSchemaType): boolean {
  try {
    return !COSTLY.test(JSON.stringify(schema))
  } catch {
    return false
  }
}

const COSTLY = /"(pattern|patternProperties|propertyNames|format|uniqueItems|\$ref|\$dynamicRef|\$recursiveRef)":/

let sandbox: (Context & { run?: () => void }) | undefined
const script = new Script('run()')

/** Runs a function with a time limit. Only a script in a vm context can be aborted; here it just calls the function. */
function within<Result>(limitMs: number, run: () => Result): Result {
  sandbox ??= createContext({})
  let outcome: { readonly result: Result } | undefined
  sandbox.run = () => {
    outcome = { result: run() }
  }
  try {
    script.runInContext(sandbox, { timeout: limitMs })
  } catch (error) {
    throw isTimeout(error)
      ? new Error(`Checking the result took more than ${limitMs} ms; the server's schema is too costly.`)
      : error
  } finally {
    delete sandbox.run
  }
  if (outcome === undefined) throw new Error('The check was not completed.')
  return outcome.result
}

// The error was made in the vm context, so `instanceof` does not work.
function isTimeout(error: unknown): boolean {
  return isObject(error) && error['code'] === 'ERR_SCRIPT_EXECUTION_TIMEOUT'
}
