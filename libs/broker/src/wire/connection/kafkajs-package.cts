// A CommonJS file in both builds, because this is the only way to read a JSON file of another
// package that works in both.
import kafkajsPackage = require('kafkajs/package.json');

export = kafkajsPackage;
