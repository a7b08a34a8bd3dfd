/**
 * Requests between the primary process of a gateway and a worker, over the channel that Node gives them. Both ends ask, and
 * both answer. The channel is a pipe between the two processes, so that configurations and keys may go over it.
 */
import { isObject } from '../../protocol/index.ts'

/** One end: a worker as the primary has it, or the process of the worker itself. */
export interface IpcEnd {
  send(message: object, sent: (error: Error | null) => void): boolean
  on(event: 'message', listener: (message: unknown) => void): unknown
  once(event: 'disconnect', listener: () => void): unknown
}

/** What an end can be asked, by name. */
export type IpcMethods<T> = { [Name in keyof T]: (params: never) => unknown }

interface IpcRequest {
  readonly ask: string
  readonly id: number
  readonly params: unknown
}

interface IpcAnswer {
  readonly answer: number
  readonly value?: unknown
  readonly fault?: IpcFault
}

/** An error, as far as the other end needs it. */
interface IpcFault {
  readonly message: string
  readonly isType: boolean
  readonly code?: string
}

interface UnansweredRequest {
  resolve(value: unknown): void
  reject(error: Error): void
}

/** The other process has ended, or was never there. */
export class ProcessGoneError extends Error {
  constructor() {
    super('The other process has ended.')
  }
}

export class IpcChannel<Local extends IpcMethods<Local>, Remote extends IpcMethods<Remote>> {
  readonly #end: IpcEnd
  readonly #local: Local
  readonly #waiting = new Map<number, UnansweredRequest>()
  #isClosed = false
  #last = 0

  /** `local`: what this end answers. */
  constructor(end: IpcEnd, local: Local) {
    this.#end = end
    this.#local = local
    end.on('message', (message) => this.#heard(message))
    end.once('disconnect', () => this.close())
  }

  /** Asks the other end. Rejects when that fails there, or the other process is gone. */
  ask<Name extends keyof Remote & string>(
    name: Name,
    params: Parameters<Remote[Name]>[0],
  ): Promise<Awaited<ReturnType<Remote[Name]>>> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    if (this.#isClosed) return Promise.reject(new ProcessGoneError())
    const id = ++this.#last
    this.#waiting.set(id, { resolve, reject })
    this.#send({ ask: name, id, params } satisfies IpcRequest)
    return promise as Promise<Awaited<ReturnType<Remote[Name]>>>
  }

  /** The other process is gone. */
  close(): void {
    this.#isClosed = true
    for (const { reject } of this.#waiting.values()) reject(new ProcessGoneError())
    this.#waiting.clear()
  }

  /** Messages of others may be on the channel as well. */
  #heard(message: unknown): void {
    if (!isObject(message)) return
    if (typeof message['ask'] === 'string') void this.#answer(message as unknown as IpcRequest)
    else if (typeof message['answer'] === 'number') this.#answered(message as unknown as IpcAnswer)
  }

  async #answer({ ask, id, params }: IpcRequest): Promise<void> {
    const answering = Object.hasOwn(this.#local, ask) ? this.#local[ask as keyof Local] : undefined
    try {
      const value: unknown = await answering?.(params as never)
      this.#send({ answer: id, value } satisfies IpcAnswer)
    } catch (error) {
      this.#send({ answer: id, fault: faultOf(error) } satisfies IpcAnswer)
    }
  }

  #answered({ answer, value, fault }: IpcAnswer): void {
    const waiting = this.#waiting.get(answer)
    this.#waiting.delete(answer)
    if (fault === undefined) waiting?.resolve(value)
    else waiting?.reject(errorOf(fault))
  }

  /** Sends without waiting: the end of the channel reports a failure. */
  #send(message: object): void {
    if (!this.#isClosed) this.#end.send(message, () => {})
  }
}

function faultOf(error: unknown): IpcFault {
  const message = error instanceof Error ? error.message : String(error)
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined
  return { message, isType: error instanceof TypeError, ...(typeof code === 'string' && { code }) }
}

function errorOf({ message, isType, code }: IpcFault): Error {
  const error = isType ? new TypeError(message) : new Error(message)
  return code === undefined ? error : Object.assign(error, { code })
}
