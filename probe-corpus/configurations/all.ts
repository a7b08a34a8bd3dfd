import type { Configuration } from '../configuration.ts'
import { FRAMEWORKS } from './frameworks.ts'
import { OFFICIAL_SDK } from './officialSdk.ts'
import { OVER_HTTP } from './overHttp.ts'
import { OWN } from './pannier.ts'
import { PRODUCTS } from './products.ts'
import { REFERENCE } from './reference.ts'

export const CONFIGURATIONS: readonly Configuration[] = [
  ...OFFICIAL_SDK,
  ...OWN,
  ...FRAMEWORKS,
  ...REFERENCE,
  ...PRODUCTS,
  ...OVER_HTTP,
]
