/** The compiler of plain JSON Schemas, loaded when there is one. Bundles have ajv.bundled.ts in its place. */
import { createRequire } from 'node:module'
import type ajv from 'ajv'
import type addFormats from 'ajv-formats'
import type ajv2020 from 'ajv/dist/2020.js'

// Written out so that tools which collect the files of a deployment find the package.
const require = createRequire(import.meta.url)

export interface AjvPackages {
  readonly Ajv: typeof ajv.Ajv
  readonly Ajv2020: typeof ajv2020.Ajv2020
  readonly addFormats: typeof addFormats.default
}

export function ajvPackages(): AjvPackages {
  const { Ajv } = require('ajv') as typeof ajv
  const { Ajv2020 } = require('ajv/dist/2020.js') as typeof ajv2020
  const { default: add } = require('ajv-formats') as typeof addFormats
  return { Ajv, Ajv2020, addFormats: add }
}
