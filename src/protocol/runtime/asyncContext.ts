/** A value that is visible in all synchronous and asynchronous calls of a function. */
import type { AsyncLocalStorage } from 'node:async_hooks'
import { findNodeModule } from './nodeModule.ts'

export type AsyncContext<T> = Pick<AsyncLocalStorage<T>, 'run' | 'getStore'>

/**
 * Edge functions have the class as a global. Without `AsyncLocalStorage`, a function is followed up to its first
 * `await`.
 */
export function createAsyncContext<T>(): AsyncContext<T> {
  const { AsyncLocalStorage: Global } = globalThis as { readonly AsyncLocalStorage?: typeof AsyncLocalStorage }
  const Storage = findNodeModule('node:async_hooks')?.AsyncLocalStorage ?? Global
  return Storage === undefined ? new SyncContext<T>() : new Storage<T>()
}

class SyncContext<T> {
  #current: T | undefined

  run<R>(value: T, fn: () => R): R {
    const outer = this.#current
    this.#current = value
    try {
      return fn()
    } finally {
      this.#current = outer
    }
  }

  getStore(): T | undefined {
    return this.#current
  }
}
