export { BusFaultClassifier } from './bus-fault-classifier.js';
export { BusListener, type ToBindingOptions } from './bus-listener.js';
export { toBinding } from './to-binding.js';
