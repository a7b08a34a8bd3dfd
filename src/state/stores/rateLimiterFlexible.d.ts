/**
 * What is used of the package rate-limiter-flexible. Its index also loads limiters that need modules of Node which not
 * every runtime has, so single files are imported, and those have no types.
 */
declare module 'rate-limiter-flexible/lib/RateLimiterMemory.js' {
  export default class RateLimiterMemory {
    constructor(options: { readonly points: number; readonly duration: number })
    /** Rejects with `{ msBeforeNext }` when the points are used up. */
    consume(key: string): Promise<unknown>
  }
}

declare module 'rate-limiter-flexible/lib/RateLimiterPostgres.js' {
  export default class RateLimiterPostgres {
    constructor(options: {
      readonly points: number
      readonly duration: number
      readonly storeClient: { query(query: { text: string; values?: unknown[]; name?: string }): Promise<unknown> }
      readonly storeType: 'pool'
      readonly schemaName: string
      readonly tableName: string
      readonly tableCreated: true
      readonly clearExpiredByTimeout: boolean
      readonly inMemoryBlockOnConsumed: number
      readonly insuranceLimiter: { consume(key: string): Promise<unknown> }
    })
    consume(key: string): Promise<unknown>
  }
}
