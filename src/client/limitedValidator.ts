/**
 * A time limit for checking tool results. The schemas come from servers, and a schema can be written so that its check
 * takes years: by a regular expression that backtracks, by references that branch, or by very many plain keywords for a
 * large value. Such a check is aborted. A schema is compiled with its first check, and within its limit: the SDK asks for
 * the checks of all listed tools when the first is called.
 */
import type { Context, Script } from 'node:vm'
import type { JsonSchemaType, JsonSchemaValidator, jsonSchemaValidator } from '@modelcontextprotocol/client'
import { isObject, nodeModule } from '../protocol/index.ts'

const LIMIT_MS = 1_000

/** False in browsers and Workers, which cannot abort a check. There the SDK's own validator is used. */
export function hasTimeLimits(): boolean {
  try {
    script ??= new (nodeModule('node:vm').Script)('run()')
    return true
  } catch {
    return false
  }
}

export function limitedValidator(
  newEngine: () => jsonSchemaValidator,
  limitMs: number = LIMIT_MS,
): jsonSchemaValidator {
  let engine = newEngine()
  return {
    getValidator<T>(schema: JsonSchemaType) {
      let validate: JsonSchemaValidator<T> | undefined
      return (input: unknown) => {
        try {
          return within(limitMs, () => {
            validate ??= engine.getValidator<T>(schema)
            return validate(input)
          })
        } catch (error) {
          // An aborted compilation leaves the engine in an unknown state.
          if (error instanceof TooCostly) engine = newEngine()
          throw error
        }
      }
    },
  }
}

class TooCostly extends Error {
  override readonly name = 'TooCostly'
}

let sandbox: (Context & { run?: () => void }) | undefined
let script: Script | undefined

/** Runs a function with a time limit. Only a script in a vm context can be aborted; here it just calls the function. */
function within<Result>(limitMs: number, run: () => Result): Result {
  const { createContext, Script } = nodeModule('node:vm')
  sandbox ??= createContext({})
  script ??= new Script('run()')
  let outcome: { readonly result: Result } | undefined
  sandbox.run = () => {
    outcome = { result: run() }
  }
  try {
    script.runInContext(sandbox, { timeout: limitMs })
  } catch (error) {
    throw isTimeout(error)
      ? new TooCostly(`Checking the result took more than ${limitMs} ms; the server's schema is too costly.`)
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
