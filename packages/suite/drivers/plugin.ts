/** The plugin of this repository, started for the run: every flow that it has. */
import { impersonation, withRequiredActor } from './plugin/impersonation.ts'
import { onBehalfOf } from './plugin/on-behalf-of.ts'

export default [impersonation, withRequiredActor, onBehalfOf]
