/** The shared parts of this folder, for the other folders of this package. It loads none of the parts. */
export { digestOf } from './digest.ts'
export { StateError, unlessRefused } from './errors.ts'
export { escapeUnprintable, jsonText, parseStored } from './jsonText.ts'
