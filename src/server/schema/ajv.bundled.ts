/** Replaces ajv.ts in bundles, which contain only static imports. */
import { Ajv } from 'ajv'
import addFormats from 'ajv-formats'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { AjvPackages } from './ajv.ts'

export function ajvPackages(): AjvPackages {
  return { Ajv, Ajv2020, addFormats: addFormats.default }
}
