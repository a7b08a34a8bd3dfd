/** The part of a handler's context that asks and remembers. It needs nothing but the run, so other hosts can offer it too. */
import type {
  CreateMessageRequestParams,
  CreateMessageResult,
  ElicitResult,
  ListRootsResult,
  Root,
} from '@modelcontextprotocol/client'
import type { OnceOptions, Run, Stored } from '../../journal/index.ts'
import { askForm, type Elicited, elicitForm, type Form, listRoots, sampleModel, visitPage } from './questions.ts'
import type { InferSchema, SchemaLike } from '../schema.ts'

type Forms = Readonly<Record<string, Form>>
type Answers<F extends Forms> = { [K in keyof F]: F[K] extends Form<infer S> ? InferSchema<S> : never }

export class Asking {
  readonly #run: Run

  constructor(run: Run) {
    this.#run = run
  }

  /** Asks the person; gives the checked content, or throws Declined. Several forms at once go out in one round. */
  ask<S extends SchemaLike>(this: Asking, key: string, form: Form<S>): Promise<InferSchema<S>>
  ask<F extends Forms>(this: Asking, forms: F): Promise<Answers<F>>
  ask(this: Asking, first: string | Forms, form?: Form): Promise<unknown> {
    if (typeof first === 'string') return this.#run.ask(first, askForm(form as Form))
    const keys = Object.keys(first)
    const answers = keys.map((key) => this.#run.ask(key, askForm(first[key] as Form)))
    return Promise.all(answers).then((values) => Object.fromEntries(keys.map((key, index) => [key, values[index]])))
  }

  /** Asks the person; gives what they did: accept with content, decline or cancel. */
  elicit<S extends SchemaLike>(this: Asking, key: string, form: Form<S>): Promise<Elicited<S>> {
    return this.#run.ask(key, elicitForm(form))
  }

  /** Sends the person to a page; resolves when they agreed to go, throws Declined when not. */
  visit(this: Asking, key: string, url: string, message: string): Promise<ElicitResult> {
    return this.#run.ask(key, visitPage(url, message))
  }

  /** Lets the client's model write a message. */
  sample(this: Asking, key: string, params: CreateMessageRequestParams): Promise<CreateMessageResult> {
    return this.#run.ask(key, sampleModel(params))
  }

  /** The folders the client works in. */
  async roots(this: Asking, key: string): Promise<Root[]> {
    const { roots }: ListRootsResult = await this.#run.ask(key, listRoots())
    return roots
  }

  /** Runs `fn` in the first round that comes here and gives its result in all later ones. */
  step<T>(this: Asking, key: string, fn: () => T | Promise<T>): Promise<Stored<T>> {
    return this.#run.step(key, fn)
  }

  /** Like `step`, and claims a ledger entry, so that a repeated round does not run it again either. */
  once<T>(
    this: Asking,
    key: string,
    fn: (idempotencyKey: string) => T | Promise<T>,
    options?: OnceOptions,
  ): Promise<Stored<T>> {
    return this.#run.once(key, fn, options)
  }

  /** Lets another instance go on from here when this one is draining or has too much to do. */
  checkpoint(): Promise<void> {
    return this.#run.checkpoint()
  }
}
