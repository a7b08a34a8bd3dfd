import { InputError } from '../exit.ts'

/** Reads the port of an option. */
export function portOf(option: string): (text: string) => number {
  return (text) => {
    const port = Number(text)
    if (Number.isInteger(port) && port >= 0 && port <= 65_535 && text.trim() !== '') return port
    throw new InputError(`${option} must be a whole number from 0 to 65535.`)
  }
}
