/** Registry entries, made of definitions: checked, their schemas compiled, their list items built. */
import type { ToolAnnotations } from '@modelcontextprotocol/client'
import {
  assertOptionNames,
  findParamHeaders,
  isObject,
  type Json,
  type OptionNames,
  type ParamHeader,
  withoutUndefined,
} from '../../protocol/index.ts'
import type {
  CompletionHandler,
  DetachingToolHandler,
  PromptHandler,
  PromptOptions,
  ResourceHandler,
  ResourceOptions,
  ResourceTemplateHandler,
  TaskOptions,
  ToolOptions,
} from './definitions.ts'
import type { Need } from '../handler/askable.ts'
import { compileSchema, type Schema, type SchemaLike } from '../schema/schema.ts'
import { accessRule, type AccessRule, ACCESS_OPTIONS } from './access.ts'
import { type Carry, CARRY_OPTIONS } from './carry.ts'
import { assertSendable } from './promptArguments.ts'
import { parseUriTemplate, type UriTemplate } from './uriTemplate.ts'

/** The members of all entries. */
export interface Guarded {
  /** Undefined when everyone may see and use it. */
  readonly access: AccessRule | undefined
  /** Undefined when the server's own choice counts. */
  readonly carry: Carry | undefined
}

export interface ToolEntry extends Guarded {
  readonly name: string
  /** As `tools/list` shows it. */
  readonly listed: Json
  readonly input: Schema | undefined
  readonly output: Schema | undefined
  readonly mirrored: readonly ParamHeader[]
  /** Undefined for a tool that is never a task. */
  readonly task: TaskOptions | undefined
  readonly needs: readonly Need[]
  readonly handler: DetachingToolHandler
}

export interface PromptEntry extends Guarded {
  readonly name: string
  readonly listed: Json
  readonly input: Schema | undefined
  readonly handler: PromptHandler
}

export interface ResourceEntry extends Guarded {
  readonly uri: string
  readonly listed: Json
  readonly options: ResourceOptions
  readonly handler: ResourceHandler
}

export interface TemplateEntry extends Guarded {
  readonly template: UriTemplate
  readonly listed: Json
  readonly options: ResourceOptions
  readonly handler: ResourceTemplateHandler
}

export interface CompletionEntry {
  readonly handler: CompletionHandler
}

const DESCRIBED = {
  title: true,
  description: true,
  icons: true,
  _meta: true,
  ...ACCESS_OPTIONS,
  ...CARRY_OPTIONS,
} as const
const TOOL_OPTIONS: OptionNames<ToolOptions<SchemaLike>> = {
  ...DESCRIBED,
  input: true,
  output: true,
  annotations: true,
  needs: true,
  task: true,
  startsAs: true,
}
const TOOL_ANNOTATIONS: OptionNames<ToolAnnotations> = {
  title: true,
  readOnlyHint: true,
  destructiveHint: true,
  idempotentHint: true,
  openWorldHint: true,
}
const PROMPT_OPTIONS: OptionNames<PromptOptions<SchemaLike>> = { ...DESCRIBED, input: true }
const RESOURCE_OPTIONS: OptionNames<ResourceOptions> = {
  ...DESCRIBED,
  name: true,
  mimeType: true,
  size: true,
  annotations: true,
  ttlMs: true,
  cacheScope: true,
}

const NO_ARGUMENTS: Json = Object.freeze({ type: 'object', properties: {} })
const NAME = /^[A-Za-z0-9_.-]{1,128}$/

export function toolEntry(name: string, options: ToolOptions<SchemaLike>, handler: DetachingToolHandler): ToolEntry {
  const what = `tool "${name}"`
  assertName(name, what)
  if (typeof options !== 'object')
    throw new TypeError(`The ${what} needs an object of options: tool("${name}", { description, input }, handler).`)
  assertOptionNames(options, TOOL_OPTIONS, `The ${what}`)
  assertOptionNames(options.annotations ?? {}, TOOL_ANNOTATIONS, `The annotations of ${what}`)
  assertHandler(handler, what)
  const { input, output, title, description, annotations, icons, _meta } = options
  if (!description) throw new TypeError(`The ${what} needs a description: it is all a model knows of it.`)
  const args = input === undefined ? undefined : compileSchema(input, 'input', `The input of ${what}`)
  const result = output === undefined ? undefined : compileSchema(output, 'output', `The output of ${what}`)
  const inputSchema = args?.json ?? NO_ARGUMENTS
  if (inputSchema['type'] !== 'object') {
    throw new TypeError(`The input of ${what} must be the schema of an object, such as z.object({ … }).`)
  }
  const listed = withoutUndefined({
    name,
    title,
    description,
    inputSchema,
    outputSchema: result?.json,
    annotations,
    icons,
    _meta,
  })
  return {
    name,
    listed,
    access: accessRule(options, what),
    carry: options.carry,
    input: args,
    output: result,
    mirrored: findParamHeaders(inputSchema),
    task: taskOptions(options, what),
    needs: needsOf(options, what),
    handler,
  }
}

const NEEDS: readonly unknown[] = ['elicitation', 'elicitation.url', 'sampling', 'roots'] satisfies readonly Need[]

function needsOf({ needs = [] }: ToolOptions<SchemaLike>, what: string): readonly Need[] {
  const given: unknown = needs
  if (Array.isArray(given) && given.every((need) => NEEDS.includes(need))) return needs
  throw new TypeError(`In the ${what}, "needs" is a list of ${NEEDS.join(', ')}.`)
}

export function promptEntry(name: string, options: PromptOptions<SchemaLike>, handler: PromptHandler): PromptEntry {
  const what = `prompt "${name}"`
  assertName(name, what)
  assertOptionNames(options, PROMPT_OPTIONS, `The ${what}`)
  assertHandler(handler, what)
  const { input, title, description, icons, _meta } = options
  const args = input === undefined ? undefined : compileSchema(input, 'input', `The input of ${what}`)
  if (input !== undefined && args !== undefined) assertSendable(input, args.json, what)
  const listed = withoutUndefined({
    name,
    title,
    description,
    arguments: args && promptArguments(args.json),
    icons,
    _meta,
  })
  return { name, listed, access: accessRule(options, what), carry: options.carry, input: args, handler }
}

export function resourceEntry(uri: string, options: ResourceOptions, handler: ResourceHandler): ResourceEntry {
  if (!URL.canParse(uri)) throw new TypeError(`"${uri}" is not an absolute address, so it cannot name a resource.`)
  if (/[{}]/.test(uri))
    throw new TypeError(`"${uri}" has braces; a template of addresses is added with resourceTemplate.`)
  assertOptionNames(options, RESOURCE_OPTIONS, `The resource "${uri}"`)
  assertHandler(handler, `resource "${uri}"`)
  const access = resourceRule(options, `resource "${uri}"`)
  return { uri, listed: { uri, ...listedResource(options) }, access, carry: options.carry, options, handler }
}

export function templateEntry(
  source: string,
  options: ResourceOptions,
  handler: ResourceTemplateHandler,
): TemplateEntry {
  assertOptionNames(options, RESOURCE_OPTIONS, `The resource template "${source}"`)
  assertHandler(handler, `resource template "${source}"`)
  const listed = { uriTemplate: source, ...listedResource(options) }
  const access = resourceRule(options, `resource template "${source}"`)
  return { template: parseUriTemplate(source), listed, access, carry: options.carry, options, handler }
}

function resourceRule(options: ResourceOptions, what: string): AccessRule | undefined {
  const rule = accessRule(options, what)
  if (rule === undefined || options.cacheScope !== 'public') return rule
  throw new TypeError(
    `The ${what} is not for everyone, so it cannot have cacheScope: 'public'; a shared cache would give it to all.`,
  )
}

function listedResource({
  name,
  title,
  description,
  mimeType,
  size,
  annotations,
  icons,
  _meta,
}: ResourceOptions): Json {
  return withoutUndefined({ name, title, description, mimeType, size, annotations, icons, _meta })
}

/** Prompt arguments are listed one by one, not as a schema. */
function promptArguments(schema: Json): Json[] {
  const { properties, required } = schema
  const needed = new Set(Array.isArray(required) ? required : [])
  return Object.entries(isObject(properties) ? properties : {}).map(([name, property]) => {
    const { title, description } = isObject(property) ? property : {}
    return withoutUndefined({ name, title, description, required: needed.has(name) })
  })
}

function taskOptions({ task, startsAs }: TaskOptions, what: string): TaskOptions | undefined {
  assertOneOf(task, ['optional', 'required'], `task of the ${what}`)
  assertOneOf(startsAs, ['call', 'task'], `startsAs of the ${what}`)
  if (task !== undefined) return { task, ...(startsAs !== undefined && { startsAs }) }
  if (startsAs === undefined) return undefined
  throw new TypeError(`The ${what} has startsAs but no task option; give it task: 'optional'.`)
}

/** A check at run time, for authors who write plain JavaScript. */
function assertOneOf(value: string | undefined, values: readonly string[], what: string): void {
  if (value === undefined || values.includes(value)) return
  throw new TypeError(`The option ${what} is ${values.map((each) => `'${each}'`).join(' or ')}.`)
}

function assertName(name: string, what: string): void {
  if (!NAME.test(name)) throw new TypeError(`The ${what} needs a name of 1 to 128 letters, digits, "_", "-" or ".".`)
}

export function completionEntry(handler: CompletionHandler): CompletionEntry {
  assertHandler(handler, 'completion')
  return { handler }
}

function assertHandler(handler: unknown, what: string): void {
  if (typeof handler !== 'function')
    throw new TypeError(`The ${what} needs a handler: a function as its last argument.`)
}
