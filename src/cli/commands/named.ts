import { plainLine } from '../../client/index.ts'
import { InputError } from '../inputError.ts'

/** The one of a list that has this name; throws, and says which there are. */
export function named<Item extends { readonly name: string }>(
  kind: string,
  name: string,
  items: readonly Item[],
): Item {
  const item = items.find((one) => one.name === name)
  if (item !== undefined) return item
  const names = items.map((one) => plainLine(one.name, 60)).join(', ')
  throw new InputError(`The server has no ${kind} "${plainLine(name, 60)}"; it has ${names || 'none'}.`)
}
