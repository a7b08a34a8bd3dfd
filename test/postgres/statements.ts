/**
 * In tests a connection refuses a statement while another one of it is under way: somebody did not wait for that one, and
 * would not hear if it failed. `pg` would put it in a queue without a word.
 */
import pg from 'pg'

type Query = (this: pg.Client, ...args: unknown[]) => unknown

const underWay = new WeakSet<pg.Client>()

function strict(query: Query): Query {
  return function strictQuery(this: pg.Client, ...args: unknown[]): unknown {
    const callback = args.at(-1)
    if (underWay.has(this)) throw new Error('The statement before was not waited for.')
    underWay.add(this)
    const end = (): boolean => underWay.delete(this)
    if (typeof callback === 'function') {
      const call = (...results: unknown[]): unknown => {
        end()
        return callback(...results)
      }
      return query.call(this, ...args.slice(0, -1), call)
    }
    const result = query.apply(this, args)
    if (result instanceof Promise) result.then(end, end)
    else end()
    return result
  }
}

const prototype = pg.Client.prototype as unknown as { query: Query }
// Files that share a worker share `pg`.
if (prototype.query.name !== 'strictQuery') prototype.query = strict(prototype.query)
