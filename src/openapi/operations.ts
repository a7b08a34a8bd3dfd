/** The operations of a document: each as a tool, or the reason why it is left out. */
import type { ToolAnnotations } from '@modelcontextprotocol/client'
import { isObject, type Json } from '../protocol/index.ts'
import { member, memberObject, memberText, type OpenApiDocument, resolved } from './document.ts'
import { OpenApiError, Unsupported } from './errors.ts'
import { argumentName, NameSet, toolName } from './names.ts'
import { type RequestBody, answerOf, bodyOf } from './media.ts'
import { declaredParameters } from './declaredParameters.ts'
import type { Parameter, ParameterPlace } from './parameters.ts'
import { SchemaWriter, shortText } from './schemas.ts'

export interface Operation {
  readonly name: string
  readonly method: string
  /** The template of its path, after the base address. */
  readonly path: string
  readonly title: string | undefined
  readonly description: string
  readonly parameters: readonly Parameter[]
  readonly body: RequestBody | undefined
  readonly input: Json
  /** Undefined if responses have different schemas, or one that is too large for a model. */
  readonly output: Json | undefined
  readonly accept: string
  readonly annotations: ToolAnnotations
}

/** An operation that becomes no tool. */
export interface LeftOut {
  /** `POST /photos` */
  readonly operation: string
  readonly why: string
}

export interface Operations {
  readonly operations: readonly Operation[]
  readonly leftOut: readonly LeftOut[]
}

const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace']
const MAX_OPERATIONS = 2000
/** The schemas of all tools. GitHub's schemas have 2 million characters. */
const MAX_SCHEMAS_CHARACTERS = 8_000_000
const TOO_LARGE = `The schemas in the OpenAPI document have more than ${MAX_SCHEMAS_CHARACTERS} characters. Give a document with the paths that are needed.`
const OPERATIONS_AT_ONCE = 10
const MAX_TEXT_CHARACTERS = 2000

/** Lets other work of the process run in between. */
export async function operationsOf(document: OpenApiDocument): Promise<Operations> {
  const leftOut: LeftOut[] = []
  const found = declaredIn(document, leftOut)
  if (found.length + leftOut.length === 0) throw invalid('The OpenAPI document has no operations in "paths".')
  if (found.length > MAX_OPERATIONS) throw invalid(tooMany(found.length))
  const names = new NameSet()
  const operations: Operation[] = []
  let characters = 0
  for (const [at, declared] of found.entries()) {
    if (at % OPERATIONS_AT_ONCE === 0) await new Promise((resolve) => setImmediate(resolve))
    try {
      const operation = operationOf(document, declared, names)
      characters += JSON.stringify([operation.input, operation.output]).length
      if (characters > MAX_SCHEMAS_CHARACTERS) throw invalid(TOO_LARGE)
      operations.push(operation)
    } catch (error) {
      if (!(error instanceof Unsupported)) throw error
      leftOut.push({
        operation: `${declared.method.toUpperCase()} ${shortText(declared.path, 200)}`,
        why: error.message,
      })
    }
  }
  const [first] = leftOut
  if (operations.length === 0 && first !== undefined) throw invalid(noneLeft(first))
  return { operations, leftOut }
}

function noneLeft({ operation, why }: LeftOut): string {
  return `None of the operations of the OpenAPI document can become a tool. ${operation}: ${why}`
}

function invalid(sentence: string): OpenApiError {
  return new OpenApiError('OPENAPI_INVALID', sentence)
}

function tooMany(count: number): string {
  return `The OpenAPI document has ${count} operations, and at most ${MAX_OPERATIONS} become tools. Give a document with the paths that are needed.`
}

interface DeclaredOperation {
  readonly method: string
  readonly path: string
  readonly operation: Json
  /** The path item; its parameters apply to all its operations. */
  readonly item: Json
}

/** The operations of all paths. An unreadable path is left out with all its operations. */
function declaredIn(document: OpenApiDocument, leftOut: LeftOut[]): readonly DeclaredOperation[] {
  const paths = Object.entries(memberObject(document.root, 'paths')).filter(([path]) => !path.startsWith('x-'))
  return paths.flatMap(([path, value]) => {
    try {
      const item = resolved(document, value)
      if (!path.startsWith('/')) throw new Unsupported('Its path does not begin with a slash.')
      return METHODS.flatMap((method): DeclaredOperation[] => {
        const operation = member(item, method)
        return isObject(item) && isObject(operation) ? [{ method, path, operation, item }] : []
      })
    } catch (error) {
      if (!(error instanceof Unsupported)) throw error
      leftOut.push({ operation: shortText(path, 200), why: error.message })
      return []
    }
  })
}

function operationOf(document: OpenApiDocument, listed: DeclaredOperation, names: NameSet): Operation {
  const { method } = listed
  if (method === 'trace') throw new Unsupported('TRACE is sent by no client.')
  const operation = resolved(document, listed.operation)
  if (!isObject(operation)) throw new Unsupported('A reference ("$ref") in it leads to no operation.')
  const declared = { ...listed, operation }
  // Some documents tell the uses of one path apart by a fragment, which is not sent.
  const [path = ''] = listed.path.split('#', 1)
  const summary = memberText(operation, 'summary')
  const writer = new SchemaWriter(document, 'input')
  const argumentNames = new NameSet()
  const properties: [string, unknown][] = []
  const required: string[] = []
  const add = (argument: string, schema: unknown, isRequired: boolean): void => {
    properties.push([argument, schema])
    if (isRequired) required.push(argument)
  }
  const parameters = declaredParameters(document, operation, declared.item).map((parameter): Parameter => {
    const { value, content, ...rest } = parameter
    const argument = argumentNames.add(argumentName(rest.name))
    const description = memberText(value, 'description')
    const schema = writer.write(content ?? member(value, 'schema'))
    const described = description === undefined ? {} : { description: shortText(description, 500) }
    add(argument, isObject(schema) ? { ...schema, ...described } : schema, isRequired(value, rest.place))
    return { ...rest, argument }
  })
  assertFillable(path, parameters)
  const body = bodyOf(document, operation, argumentNames)
  if (body !== undefined) add(body.argument, writer.write(body.schema), body.isRequired)
  const definitions = writer.definitions()
  const { output, accept } = answerOf(document, operation)
  return {
    name: names.add(toolName(memberText(operation, 'operationId') ?? `${method}_${listed.path}`)),
    method: method.toUpperCase(),
    path,
    title: summary === undefined ? undefined : shortText(summary, 100),
    description: descriptionOf(declared, summary),
    parameters,
    body,
    input: {
      type: 'object',
      properties: Object.fromEntries(properties),
      ...(required.length > 0 && { required }),
      additionalProperties: false,
      ...(definitions !== undefined && { $defs: definitions }),
    },
    output,
    accept,
    annotations: ANNOTATIONS[method] ?? {},
  }
}

const ANNOTATIONS: Readonly<Record<string, ToolAnnotations>> = {
  get: { readOnlyHint: true },
  head: { readOnlyHint: true },
  options: { readOnlyHint: true },
  put: { idempotentHint: true },
  delete: { destructiveHint: true, idempotentHint: true },
}

function descriptionOf({ method, path, operation }: DeclaredOperation, summary: string | undefined): string {
  const isDeprecated = member(operation, 'deprecated') === true
  const texts = [isDeprecated ? 'Deprecated.' : '', summary, memberText(operation, 'description')]
  const text = [...new Set(texts)].filter(Boolean).join('\n\n')
  return shortText(text || `${method.toUpperCase()} ${path}`, MAX_TEXT_CHARACTERS)
}

function isRequired(value: Json, place: ParameterPlace): boolean {
  return place === 'path' || member(value, 'required') === true
}

function assertFillable(path: string, parameters: readonly Parameter[]): void {
  const known = new Set(parameters.filter(({ place }) => place === 'path').map(({ name }) => name))
  const missing = [...path.matchAll(/\{([^{}]+)\}/g)].find(([, name = '']) => !known.has(name))
  if (missing !== undefined)
    throw new Unsupported(`Its path has ${shortText(missing[0], 60)}, which is no parameter of it.`)
}
