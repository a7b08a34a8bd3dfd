/**
 * A time limit for checking tool results. The schemas come from servers, and a schema can be written so that its check
 * takes years: by a regular expression that backtracks, by references that branch, or by very many plain keywords for a
 * large value. Such a check is aborted.
 *
 * The SDK compiles the schemas of all listed tools when the first is called, so all these have one limit together. What
 * is not compiled by then is compiled with its first check, within the limit of that check.
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
  let compiledForMs = 0
  const limited = <Result>(forMs: number, run: () => Result): Result => {
    try {
      return within(forMs, run)
    } catch (error) {
      // An aborted compilation leaves the engine in an unknown state.
      if (error instanceof TooCostly) engine = newEngine()
      throw error
    }
  }
  const compileInList = <T>(schema: JsonSchemaType): JsonSchemaValidator<T> | undefined => {
    const leftMs = Math.floor(limitMs - compiledForMs)
    if (leftMs < 1) return undefined
    // The SDK compiles all schemas of a list in one turn of the event loop.
    if (compiledForMs === 0) queueMicrotask(() => (compiledForMs = 0))
    const startedAt = performance.now()
    try {
      return limited(leftMs, () => engine.getValidator<T>(schema))
    } catch (error) {
      if (leftMs < limitMs && error instanceof TooCostly) return undefined
      throw error
    } finally {
      compiledForMs += performance.now() - startedAt
    }
  }
  return {
    getValidator<T>(schema: JsonSchemaType) {
      let validate = compileInList<T>(schema)
      const maxSize = cheapSize(schema)
      return (input: unknown) => {
        if (validate !== undefined && sizeUpTo(maxSize, input) < maxSize) return validate(input)
        return limited(limitMs, () => {
          validate ??= engine.getValidator<T>(schema)
          return validate(input)
        })
      }
    },
  }
}

/** Keywords whose check can take longer than reading the schema for each part of the value. */
const COSTLY = /"(pattern|patternProperties|propertyNames|format|uniqueItems|\$ref|\$dynamicRef|\$recursiveRef)":/

/** This many steps take far less than the limit. Starting the limit costs about as much as 10,000 of them. */
const CHEAP_STEPS = 1_000_000

/** The size from which a value is checked with the limit. */
function cheapSize(schema: JsonSchemaType): number {
  try {
    const text = JSON.stringify(schema)
    return COSTLY.test(text) ? 0 : CHEAP_STEPS / text.length
  } catch {
    return 0
  }
}

/** The number of values and characters in a value, counted no further than `max`. What nests deep counts as large. */
function sizeUpTo(max: number, value: unknown, depth = 0): number {
  if (typeof value === 'string') return 1 + value.length
  if (typeof value !== 'object' || value === null) return 1
  if (depth > MAX_DEPTH) return max
  let size = 1
  for (const key in value) {
    if (size >= max) return size
    size += key.length + sizeUpTo(max - size, value[key as keyof typeof value], depth + 1)
  }
  return size
}

const MAX_DEPTH = 100

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
