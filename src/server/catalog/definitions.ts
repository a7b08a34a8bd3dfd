/** The definitions that a server author writes: tools, prompts, resources and completions, with their handlers. */
import type {
  Annotations,
  CallToolResult,
  GetPromptResult,
  Icon,
  ReadResourceResult,
  ToolAnnotations,
} from '@modelcontextprotocol/client'
import type { Context, DetachableContext } from '../handler/context.ts'
import type { Need } from '../handler/askable.ts'
import type { InputRequired } from '../handler/questions.ts'
import type { RequestContext } from '../handler/requestContext.ts'
import type { InferSchema, SchemaLike } from '../schema/schema.ts'
import type { AccessOptions } from './access.ts'
import type { CarryOptions } from './carry.ts'
import type { FailureResult, StructuredResult } from './content.ts'

type Awaitable<T> = T | Promise<T>

interface Described extends AccessOptions, CarryOptions {
  /** A name to show to people. */
  title?: string
  /** Its description, for models and people. */
  description?: string
  /** Icons that clients may show. */
  icons?: Icon[]
  /** The `_meta` of its entry in the list. */
  _meta?: Record<string, unknown>
}

/** How a tool runs that may take a long time (the tasks extension, and tasks of the session era). */
export interface TaskOptions {
  /** Runs as a task for clients that support tasks; 'required' refuses all others. @default never a task */
  task?: 'optional' | 'required'
  /** 'call' starts as an ordinary call that may ask, and becomes a task at `ctx.detach()`. @default 'task' */
  startsAs?: 'task' | 'call'
}

export interface ToolOptions<I extends SchemaLike, O extends SchemaLike = SchemaLike> extends Described, TaskOptions {
  /** The description of the tool, for the model that chooses it. */
  description: string
  /** The arguments. @default an object without properties */
  input?: I
  /** The schema of `structuredContent`; the handler's result is checked against it. */
  output?: O
  /** Hints for clients, such as `readOnlyHint`. */
  annotations?: ToolAnnotations
  /**
   * The client features that the handler uses. A client without it is refused before the handler runs, so that nothing
   * has happened then. @default a call fails when its handler asks
   */
  needs?: readonly Need[]
}

/** A string is a text result. */
export type ToolReturn = CallToolResult | InputRequired | string

/** The result of a tool with this output schema; any if it has none, or if the schema is not known. */
export type ToolReturnOf<O extends SchemaLike> = [O] extends [never]
  ? ToolReturn
  : SchemaLike extends O
    ? ToolReturn
    : StructuredResult<InferSchema<O>> | FailureResult | InputRequired

/** The function of a tool. */
export type ToolHandler<I extends SchemaLike = SchemaLike, O extends SchemaLike = never> = (
  args: InferSchema<I>,
  ctx: Context,
) => Awaitable<ToolReturnOf<O>>

/** The handler of a tool with `startsAs: 'call'`. */
export type DetachingToolHandler<I extends SchemaLike = SchemaLike, O extends SchemaLike = never> = (
  args: InferSchema<I>,
  ctx: DetachableContext,
) => Awaitable<ToolReturnOf<O>>

export interface PromptOptions<I extends SchemaLike> extends Described {
  /** The purpose of the prompt, for people who choose it. */
  description: string
  /** The arguments: an object of strings. */
  input?: I
}

/** A string is one user message. */
export type PromptReturn = GetPromptResult | InputRequired | string

/** The handler of a prompt. It gets the arguments, and returns the messages or asks for input. */
export type PromptHandler<I extends SchemaLike = SchemaLike> = (
  args: InferSchema<I>,
  ctx: Context,
) => Awaitable<PromptReturn>

export interface ResourceOptions extends Described {
  /** The name of the resource in the list. */
  name: string
  /** The MIME type of the content, if it is always the same. */
  mimeType?: string
  /** In bytes, if known. */
  size?: number
  /** Hints for clients: audience, priority, last change. */
  annotations?: Annotations
  /** How long a client may cache the content, in milliseconds. @default 0 */
  ttlMs?: number
  /** Whether the content is the same for everyone. @default 'private' */
  cacheScope?: 'public' | 'private'
}

/** A string is the text, bytes are the blob. */
export type ResourceReturn = ReadResourceResult | InputRequired | string | Uint8Array

/** Reads a resource. */
export type ResourceHandler = (uri: string, ctx: Context) => Awaitable<ResourceReturn>

/** Reads a resource whose address fits a template; the variables are parts of the address. */
export type ResourceTemplateHandler = (
  uri: string,
  variables: Record<string, string>,
  ctx: Context,
) => Awaitable<ResourceReturn>

/** The subject of a completion: an argument of a prompt, or a variable of a resource template. */
export type CompletionTarget = { prompt: string; argument: string } | { template: string; variable: string }

/** Returns the values that fit the typed text and the arguments already chosen, best first. */
export type CompletionHandler = (
  typed: string,
  chosen: Readonly<Record<string, string>>,
  ctx: RequestContext,
) => Awaitable<readonly string[]>
